use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::{fs, thread};

use crate::objects::one_pod;
use crate::restart::node_part;
use mooring_cluster::network::{Backend, World, eventually};

/// While `nft` fails, the report of each address says so. When `nft` works again, the address is programmed again.
pub fn an_unreadable_kernel_is_reported(backend: Backend) {
    let world = World::new(backend);
    let (node, _) = one_pod(&world);
    // Only this process and its children see /run.
    let folder = Path::new("/run").join(world.name("nft"));
    fs::create_dir_all(&folder).unwrap();
    let (nft, broken) = (folder.join("nft"), folder.join("broken"));
    let path = std::env::var("PATH").unwrap();
    let script = format!(
        "#!/bin/sh\nPATH={path}\nif [ -e {} ]; then echo out of memory >&2; exit 1; fi\nexec nft \"$@\"\n",
        broken.display()
    );
    fs::write(&nft, script).unwrap();
    fs::set_permissions(&nft, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = node_part(&world);
    command.env("PATH", format!("{}:{path}", folder.display()));
    let mut part = Part(command.stdout(Stdio::piped()).spawn().unwrap());
    let said = Mutex::new(String::new());
    let lines = BufReader::new(part.0.stdout.take().unwrap()).lines();
    thread::scope(|scope| {
        scope.spawn(|| {
            for line in lines.map_while(Result::ok) {
                *said.lock().unwrap() = line;
            }
        });
        // Ends the node part, and so the thread, even if a check below fails.
        let part = part;
        let evidence = || said.lock().unwrap().clone();
        let says = |part: &str| evidence().contains(part).then_some(());
        eventually("it is programmed", evidence, || says("state: Programmed"));
        fs::write(&broken, "").unwrap();
        node.run("nft add chain ip mooring foreign");
        eventually("it is reported", evidence, || {
            says("state: Failed").and(says("cannot be read"))
        });
        assert!(evidence().contains("out of memory"), "{}", evidence());
        fs::remove_file(&broken).unwrap();
        eventually("it is programmed again", evidence, || {
            says("state: Programmed")
        });
        drop(part);
    });
}

/// A node part, which ends when this is dropped.
struct Part(Child);

impl Drop for Part {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}
