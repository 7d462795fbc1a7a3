//! Traps in what manifests may say.

use podkeeper::model::read::{self, Options, Reading};
use podkeeper::sim::Story;

use crate::pod;

fn reading(text: &str) -> Reading {
    read::read("web.yaml", text.as_bytes(), &Options::default())
}

#[test]
fn trap_18_wrong_double_and_clashing_pods_are_refused_by_name() {
    let without_image = pod("web", "").replace(", image: \"nginx:1.27\"", "");
    assert!(reading(&without_image).diagnoses[0].field.ends_with("image"));
    let twice = reading(&[pod("web", ""), pod("web", "")].join("---\n"));
    assert!(
        twice.diagnoses.iter().any(|d| d.is_error() && d.message.contains("twice")),
        "{:?}",
        twice.diagnoses
    );
    let mut story = Story::new("");
    let port = ", ports: [{containerPort: 80, hostPort: 8080}]";
    story.file("a.yaml", &pod("a", port)).file("b.yaml", &pod("b", port)).settles();
    let waits = story.world.waits();
    assert_eq!(waits.iter().map(|wait| wait.reason.word).collect::<Vec<_>>(), ["PortConflict"]);
}

#[test]
fn trap_19_a_mount_needs_a_volume() {
    let mount = pod("web", ", volumeMounts: [{name: nowhere, mountPath: /data}]");
    let errors: Vec<_> = reading(&mount).diagnoses.into_iter().filter(|d| d.is_error()).collect();
    assert!(errors.iter().any(|error| error.field.contains("volumeMounts")), "{errors:?}");
}
