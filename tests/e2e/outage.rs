//! The API server is away for some time.

use std::sync::atomic::Ordering;

use crate::harness::scene::Scene;

scenes![
    alone a_restart_of_the_api_server_detaches_nothing,
];

async fn a_restart_of_the_api_server_detaches_nothing(scene: &Scene) {
    let mooring = scene.mooring().await;
    let ip = scene.attached_pod().await;
    scene.rights_were_away.store(true, Ordering::Relaxed);
    scene.cluster().process("kube-apiserver").restart();
    scene
        .eventually(
            "the API server answers again",
            crate::harness::scene::SOON,
            async || scene.kubectl("get ips").await.ok,
        )
        .await;
    mooring.wait_until_ready(crate::harness::scene::SOON).await;
    scene.expect_attached(&ip, "web").await;
    assert_eq!(
        scene.mutations().await.len(),
        1,
        "cannot list is never gone"
    );
    // Mooring still works. The second pod shows that the watch works: a deletion that no watch shows counts only after
    // a minute.
    let second = scene.ip("second", 11).await;
    scene.pod("second", &second).await;
    scene.expect_attached(&second, "second").await;
    scene.expect_attached(&ip, "web").await;
    let assigned = scene.mutations().await.len();
    assert_eq!(assigned, 2, "a list that fails detaches nothing");
    scene.delete("Pod", "web").await;
    scene.expect_detached(&ip).await;
}
