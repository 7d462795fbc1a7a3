//! What a source does not say is not a wish to remove.

use podkeeper::sim::story::key;
use podkeeper::sim::{Event, Story};

use crate::{WEB, compare};

#[test]
fn a_source_that_cannot_be_read_keeps_its_pods() {
    let mut story = Story::new("While a source cannot be read, its pods are kept, and kept running.");
    story.file("web.yaml", WEB).settles();
    story.happens(Event::SourceGoesStale);
    story.happens(Event::Killed { pod: key("web"), container: "app".into() }).settles();
    compare("sources", "a_source_that_cannot_be_read_keeps_its_pods", &story);
}

#[test]
fn a_pod_deleted_while_the_source_is_away_goes_when_it_is_back() {
    let mut story = Story::new("A pod goes when its source has been read and does not have it, not before.");
    story.file("web.yaml", WEB).settles();
    story.happens(Event::SourceGoesStale);
    story.no_file("web.yaml").settles();
    story.happens(Event::SourceIsRead).settles();
    compare("sources", "a_pod_deleted_while_the_source_is_away_goes_when_it_is_back", &story);
}
