//! The node has other tenants: ports, names and images that are not ours.

use std::time::Duration;

use podkeeper::model::pod::Protocol;
use podkeeper::plan::config::PortBinding;
use podkeeper::sim::{Event, Story};

use crate::{WEB, compare};

fn on_port(name: &str) -> String {
    let ports = "\", ports: [{containerPort: 80, hostPort: 8080}]}]";
    WEB.replace("\"}]", ports).replace("web", name)
}

#[test]
fn of_two_pods_that_want_a_port_the_second_waits() {
    let mut story =
        Story::new("Of two pods that want one host port, the one that runs keeps it; the other waits.");
    story.file("a.yaml", &on_port("a")).settles();
    story.file("b.yaml", &on_port("b")).settles();
    story.no_file("a.yaml").settles();
    compare("sharing", "of_two_pods_that_want_a_port_the_second_waits", &story);
}

#[test]
fn the_heir_of_a_port_waits_until_the_leaving_pod_is_gone() {
    let mut story = Story::new("A pod takes over the host port of one that leaves in the same moment.");
    story.file("a.yaml", &on_port("a")).settles();
    story.no_file("a.yaml").file("b.yaml", &on_port("b")).settles();
    compare("sharing", "the_heir_of_a_port_waits_until_the_leaving_pod_is_gone", &story);
}

#[test]
fn two_pods_that_swap_their_ports_both_come_back() {
    let mut story = Story::new("Two pods swap their host ports: both go down first, then both come up.");
    let (one, other) = (on_port("a"), on_port("b").replace("8080", "9090"));
    story.file("a.yaml", &one).file("b.yaml", &other).settles();
    let (one, other) = (one.replace("8080", "9090"), other.replace("9090", "8080"));
    story.file("a.yaml", &one).file("b.yaml", &other).settles();
    compare("sharing", "two_pods_that_swap_their_ports_both_come_back", &story);
}

#[test]
fn a_port_taken_by_another_program_is_tried_again() {
    let mut story = Story::new("A host port that another program has is tried again until it is free.");
    story.happens(Event::PortTaken { protocol: Protocol::Tcp, port: 8080 });
    story.file("web.yaml", &on_port("web")).passes(Duration::from_secs(3));
    story.happens(Event::PortFreed { protocol: Protocol::Tcp, port: 8080 }).passes(Duration::from_secs(10));
    compare("sharing", "a_port_taken_by_another_program_is_tried_again", &story);
}

#[test]
fn a_strangers_container_that_has_our_name_is_left_alone() {
    let mut story =
        Story::new("A stranger's container that has a name of ours is never touched: the pod waits.");
    story.file("web.yaml", WEB);
    let uid = story.world.declared().next().expect("web is declared").uid.clone();
    let name = format!("k8s_POD_web_default_{uid}_0");
    let stranger =
        story.world.engine.add_foreign(&name, Vec::<PortBinding>::new()).expect("the name is free");
    story.passes(Duration::from_secs(60));
    assert!(!story.world.engine.touched().contains(&stranger));
    compare("sharing", "a_strangers_container_that_has_our_name_is_left_alone", &story);
}

#[test]
fn a_missing_image_is_pulled_when_it_appears() {
    let mut story =
        Story::new("An image that the registry does not have is asked for again, later each time.");
    story.happens(Event::ImageVanishes { image: "nginx:1.27".into() });
    story.file("web.yaml", WEB).passes(Duration::from_secs(25));
    story.happens(Event::ImageAppears { image: "nginx:1.27".into() }).passes(Duration::from_secs(30));
    compare("sharing", "a_missing_image_is_pulled_when_it_appears", &story);
}
