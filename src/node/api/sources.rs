//! `/sources`: how each source is doing, and what is declared in vain.

use serde_json::{Value, json};

use crate::model::Time;
use crate::node::snapshot::Snapshot;
use crate::plan::desired::Shadowed;

pub(super) fn list(now: &Snapshot, at: Time) -> Value {
    let items: Vec<Value> = now
        .sources
        .iter()
        .flat_map(|(kind, reports)| reports.iter().map(move |report| (kind, report)))
        .map(|(kind, report)| {
            let mut item = json!(report);
            item["kind"] = json!(kind);
            item["nextTry"] = json!(report.next_try.map(|at| at.to_string()));
            item["nextTrySeconds"] = json!(report.next_try.map(|next| next.since(at).as_secs()));
            item["readAt"] = json!(report.read_at.map(|at| at.to_string()));
            item["ageSeconds"] = json!(report.read_at.map(|read| at.since(read).as_secs()));
            item
        })
        .collect();
    let troubles: Vec<&String> = now.disk_trouble.iter().collect();
    let shadowed: Vec<Value> = now.desired.shadowed().map(shadowed).collect();
    json!({ "items": items, "shadowed": shadowed, "troubles": troubles })
}

/// A pod that one source declares and another of higher precedence, too.
fn shadowed(Shadowed { loser, winner }: Shadowed) -> Value {
    json!({
        "pod": loser.key,
        "source": loser.source,
        "place": loser.places.of(""),
        "by": { "source": winner.source, "place": winner.places.of("") },
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Place, Places, Pod};
    use crate::node::api::Api;
    use crate::node::snapshot::EngineStatus;
    use crate::plan::{Declared, Slot, SourceKind};

    #[tokio::test(flavor = "current_thread")]
    async fn who_shadows_whom_is_told_with_both_places() {
        let mut now = Api::of_a_node(EngineStatus::Connecting).snapshots.now();
        for (kind, file, line) in [(SourceKind::Etcd, "key", 1), (SourceKind::File, "web.yaml", 4)] {
            let mut pod = Pod::default();
            (pod.metadata.namespace, pod.metadata.name) = ("default".into(), "web".into());
            let places = Places { file: file.into(), fields: [("".into(), (line, 1))].into() };
            let declared = Arc::new(Declared::new(&now.desired.node, kind, pod, places));
            let slot = Slot::Known(im::OrdMap::unit(declared.key.clone(), declared));
            now.desired = now.desired.with_slot(kind, slot);
        }
        let place = |file: &str, line| json!(Place { file: file.into(), line, column: 1 });
        let expected = json!([{
            "pod": "default/web",
            "source": "etcd",
            "place": place("key", 1),
            "by": { "source": "file", "place": place("web.yaml", 4) },
        }]);
        assert_eq!(list(&now, Time(0))["shadowed"], expected);
    }
}
