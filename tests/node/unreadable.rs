use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::{fs, thread};

use crate::objects::one_pod;
use crate::restart::node_part;
use mooring_cluster::network::{Backend, World, Y, eventually};

/// While `nft` fails, the report of each address says so. When `nft` works again, the address is programmed again.
pub fn an_unreadable_kernel_is_reported(backend: Backend) {
    let world = World::new(backend);
    let (node, _) = one_pod(&world);
    let nft = FakeNft::new(&world, "[ -e $0.broken ]");
    let mut part = nft.node_part(&world);
    let last_line = Mutex::new(String::new());
    let lines = BufReader::new(part.0.stdout.take().unwrap()).lines();
    thread::scope(|scope| {
        scope.spawn(|| {
            for line in lines.map_while(Result::ok) {
                *last_line.lock().unwrap() = line;
            }
        });
        // Ends the node part, and so the thread, even if a check below fails.
        let part = part;
        let evidence = || last_line.lock().unwrap().clone();
        let is_logged = |part: &str| evidence().contains(part).then_some(());
        eventually("it is programmed", evidence, || {
            is_logged("state: Programmed")
        });
        fs::write(nft.0.join("nft.broken"), "").unwrap();
        node.run("nft add chain ip mooring foreign");
        eventually("it is reported", evidence, || {
            is_logged("state: Failed").and(is_logged("cannot be read"))
        });
        assert!(evidence().contains("out of memory"), "{}", evidence());
        fs::remove_file(nft.0.join("nft.broken")).unwrap();
        eventually("it is programmed again", evidence, || {
            is_logged("state: Programmed")
        });
        drop(part);
    });
}

/// While the kernel refuses the table, the address of a program with `hostNetwork` is not on the interface: the program
/// would send from it, and nothing would keep its source.
pub fn without_its_table_an_address_is_not_added(backend: Backend) {
    let world = World::new(backend);
    let (node, _) = one_pod(&world);
    world.assign(Y, "a");
    let nft = FakeNft::new(&world, "case \"$*\" in *--file*) ;; *) false ;; esac");
    let mut part = nft.node_part(&world);
    let lines = BufReader::new(part.0.stdout.take().unwrap()).lines();
    let mut reports = lines.map_while(Result::ok);
    assert!(reports.any(|line| line.contains("out of memory")));
    let rules = node.run("ip rule");
    assert!(rules.contains(&format!("from {Y}")), "{rules}");
    let addresses = node.run("ip -4 addr show eth1");
    assert!(!addresses.contains(Y), "{addresses}");
}

/// A folder with a program `nft` that fails if a condition of the shell is true.
struct FakeNft(PathBuf);

impl FakeNft {
    fn new(world: &World, fails: &str) -> Self {
        // Only this process and its children see /run.
        let folder = Path::new("/run").join(world.name("nft"));
        fs::create_dir_all(&folder).unwrap();
        let path = std::env::var("PATH").unwrap();
        let script = format!(
            "#!/bin/sh\nPATH={path}\nif {fails}; then echo out of memory >&2; exit 1; fi\nexec nft \"$@\"\n"
        );
        let nft = folder.join("nft");
        fs::write(&nft, script).unwrap();
        fs::set_permissions(&nft, fs::Permissions::from_mode(0o755)).unwrap();
        Self(folder)
    }

    /// Starts a node part with this `nft`.
    fn node_part(&self, world: &World) -> Process {
        let path = std::env::var("PATH").unwrap();
        let mut command = node_part(world);
        command.env("PATH", format!("{}:{path}", self.0.display()));
        Process(command.stdout(Stdio::piped()).spawn().unwrap())
    }
}

/// A node part, which ends when this is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}
