//! Certificates of a test: one authority per cluster, leaves for the API server and the webhook.

use rcgen::KeyUsagePurpose;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair,
};

/// A certificate authority.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key, both PEM.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// The certificate.
    pub certificate: String,
    /// The private key (PKCS#8).
    pub key: String,
}

impl Authority {
    /// A fresh authority of that name.
    pub fn new(name: &str) -> Self {
        let mut parameters = CertificateParams::default();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        parameters.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key can be made");
        Self {
            issuer: CertifiedIssuer::self_signed(parameters, key).expect("a CA can sign itself"),
        }
    }

    /// The certificate of the authority, PEM.
    pub fn certificate(&self) -> String {
        self.issuer.pem()
    }

    /// A server certificate for these names and addresses.
    pub fn leaf(&self, names: &[&str]) -> Leaf {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut parameters = CertificateParams::new(names).expect("the names are valid");
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(&parameters)
    }

    /// A client certificate.
    pub fn client(&self, name: &str) -> Leaf {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(&parameters)
    }

    fn sign(&self, parameters: &CertificateParams) -> Leaf {
        let key = KeyPair::generate().expect("a key can be made");
        let certificate = parameters
            .signed_by(&key, &self.issuer)
            .expect("a CA can sign a leaf");
        Leaf {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        }
    }
}

/// A key for signing ServiceAccount tokens: (private, public), both PEM.
pub(crate) fn token_key() -> (String, String) {
    let key = KeyPair::generate().expect("a key can be made");
    (key.serialize_pem(), key.public_key_pem())
}
