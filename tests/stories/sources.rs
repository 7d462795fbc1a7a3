//! What a source does not say is not a wish to remove.

use std::time::Duration;

use podkeeper::plan::SourceKind;
use podkeeper::sim::story::key;
use podkeeper::sim::{Event, Program, Story};

use crate::{WEB, compare};

#[test]
fn a_source_that_cannot_be_read_keeps_its_pods() {
    let mut story = Story::new("While a source cannot be read, its pods are kept, and kept running.");
    story.file("web.yaml", WEB).settles();
    story.happens(Event::SourceGoesStale { source: SourceKind::File });
    story.happens(Event::Killed { pod: key("web"), container: "app".into() }).settles();
    compare("sources", "a_source_that_cannot_be_read_keeps_its_pods", &story);
}

#[test]
fn a_pod_deleted_while_the_source_is_away_goes_when_it_is_back() {
    let mut story = Story::new("A pod goes when its source has been read and does not have it, not before.");
    story.file("web.yaml", WEB).settles();
    story.happens(Event::SourceGoesStale { source: SourceKind::File });
    story.no_file("web.yaml").settles();
    story.happens(Event::SourceIsRead { source: SourceKind::File }).settles();
    compare("sources", "a_pod_deleted_while_the_source_is_away_goes_when_it_is_back", &story);
}

/// The image tells whose version runs.
fn version(image: &str) -> String {
    WEB.replace("nginx:1.27", image)
}

#[test]
fn of_two_sources_the_one_that_goes_first_wins_a_name() {
    let mut story = Story::new("A file wins a name from the network, and when it lets go the other has it.");
    story.says(SourceKind::Http, "http://fleet/web", &version("nginx:1.26")).settles();
    story.file("web.yaml", &version("nginx:1.27")).settles();
    story.no_file("web.yaml").settles();
    compare("sources", "of_two_sources_the_one_that_goes_first_wins_a_name", &story);
}

#[test]
fn a_loser_that_says_the_same_takes_over_without_a_restart() {
    let mut story = Story::new("The next source has the same pod: when the first lets go, nothing restarts.");
    story.file("web.yaml", WEB).says(SourceKind::Etcd, "pods/default/web", WEB).settles();
    story.no_file("web.yaml").settles();
    compare("sources", "a_loser_that_says_the_same_takes_over_without_a_restart", &story);
}

#[test]
fn a_pod_that_another_source_took_over_goes_when_that_one_lets_go() {
    let mut story = Story::new("Who declared a pod last decides when it goes, not who made its containers.");
    story.file("web.yaml", WEB).says(SourceKind::Etcd, "pods/default/web", WEB).settles();
    story.no_file("web.yaml").settles();
    story.happens(Event::SourceGoesStale { source: SourceKind::File });
    story.takes_back(SourceKind::Etcd, "pods/default/web").settles();
    compare("sources", "a_pod_that_another_source_took_over_goes_when_that_one_lets_go", &story);
}

#[test]
fn a_change_of_the_loser_changes_nothing() {
    let mut story = Story::new("What a source says in vain leads to nothing, now and when it changes.");
    story.file("web.yaml", WEB).settles();
    story.says(SourceKind::Etcd, "pods/default/web", &version("nginx:1.20")).settles();
    story.says(SourceKind::Etcd, "pods/default/web", &version("nginx:1.21")).settles();
    story.takes_back(SourceKind::Etcd, "pods/default/web").settles();
    compare("sources", "a_change_of_the_loser_changes_nothing", &story);
}

#[test]
fn a_source_that_is_away_holds_up_no_other() {
    let mut story = Story::new("While one source is away, the others' pods come, change and go.");
    story.says(SourceKind::Etcd, "pods/default/web", WEB).settles();
    story.happens(Event::SourceGoesStale { source: SourceKind::Etcd });
    let db = WEB.replace("name: web", "name: db");
    story.file("db.yaml", &db).settles();
    story.no_file("db.yaml").settles();
    compare("sources", "a_source_that_is_away_holds_up_no_other", &story);
}

#[test]
fn a_winner_that_is_away_keeps_its_name() {
    let mut story =
        Story::new("A source that cannot be read has still said what it said: nobody else takes over.");
    story.file("web.yaml", WEB).says(SourceKind::Http, "http://fleet/web", &version("nginx:1.26")).settles();
    story.happens(Event::SourceGoesStale { source: SourceKind::File });
    story.happens(Event::AgentDies).settles();
    compare("sources", "a_winner_that_is_away_keeps_its_name", &story);
}

#[test]
fn a_pod_that_was_gone_and_is_declared_again_begins_without_its_back_off() {
    let mut story = Story::new(
        "A file's pod that is gone and is declared again within seconds begins anew: what its earlier life \
         waited for concerns nobody.",
    );
    story.file("web.yaml", WEB).program("web", "app", |_| Program::exits(1, Duration::from_secs(1)));
    story.starts_of("web", "app", Duration::from_secs(30));
    story.no_file("web.yaml").settles();
    // Before the next list, which would forget it too.
    story.file("web.yaml", WEB).settles();
    compare("sources", "a_pod_that_was_gone_and_is_declared_again_begins_without_its_back_off", &story);
}
