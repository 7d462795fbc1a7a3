//! Stories: what podkeeper owes, one obligation each. The accounts are in `snapshots/`; read them there.

mod adopting;
mod changing;
mod failing;
mod init;
mod running;
mod sharing;
mod sources;

use podkeeper::sim::Story;

/// Compares the account of a story with its snapshot, `snapshots/<topic>/<name>.snap`.
fn compare(topic: &str, name: &str, story: &Story) {
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path(format!("../../snapshots/{topic}"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, story.told()));
}

/// One container, for stories in which the manifest matters little.
const WEB: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: app, image: \"nginx:1.27\"}]}
";
