//! What an [`Event`] does to a [`World`].

use crate::model::{ContainerId, PodKey};
use crate::sim::container::Phase;
use crate::sim::event::Event;
use crate::sim::machine::Machine;
use crate::sim::world::{World, nowhere};

impl World {
    /// Lets an event happen. The agent learns of it only as it would in truth.
    pub fn happen(&mut self, event: &Event) {
        match event {
            Event::Apply { source, pod } => {
                let file = format!("{}.yaml", pod.metadata.name);
                self.declare(*source, (**pod).clone(), nowhere(&file));
            }
            Event::Delete { source, pod } => self.undeclare(*source, pod),
            Event::SourceGoesStale { source } => self.set_readable(*source, false),
            Event::SourceIsRead { source } => self.set_readable(*source, true),
            Event::Exits { pod, container, code, oom } => {
                self.with(pod, container, |machine, id| {
                    let at = machine.at;
                    if machine.containers.get(id).is_some_and(|c| c.is_up()) {
                        machine.end(id, at, *code, *oom);
                    }
                });
            }
            Event::Killed { pod, container } => self.with(pod, container, Machine::kill),
            Event::Stopped { pod, container } => {
                // What Docker answers is for the person who asked.
                self.with(pod, container, |machine, id| drop(machine.stop(id, None)));
            }
            Event::Started { pod, container } => {
                if let Some(seen) = self.engine.find(pod, container) {
                    // What Docker answers is for the person who asked.
                    let _ = self.engine.start_by_hand(&seen.id);
                }
            }
            Event::Paused { pod, container } => self.with(pod, container, Machine::pause),
            Event::Vanishes { pod, container } => self.with(pod, container, Machine::vanish),
            Event::Pruned => self.engine.machine_mut().prune(),
            Event::CallFails { verb, skip, fault } => self.engine.fail(*verb, *skip, *fault),
            Event::EngineRestarts { live_restore } => {
                self.engine.restart(*live_restore);
                self.lose_connection();
            }
            Event::AgentDies => self.restart_agent(),
            Event::StaleList => self.list_late(),
            Event::EventsLost => {
                self.engine.take_events();
                self.events.clear();
            }
            Event::EventsDoubled => {
                self.events.extend(self.engine.take_events());
                let again: Vec<_> = self.events.iter().rev().cloned().collect();
                self.events.extend(again);
            }
            Event::TimePasses(time) => self.pass(*time),
            Event::ImageAppears { image } => self.engine.set_pullable(image, true),
            Event::ImageVanishes { image } => {
                self.engine.set_pullable(image, false);
                self.engine.remove_image(image);
            }
            Event::PortTaken { protocol, port } => self.engine.take_port(*protocol, *port, true),
            Event::PortFreed { protocol, port } => self.engine.take_port(*protocol, *port, false),
        }
    }

    /// Does something to the newest container of that name in a pod, if there is one.
    fn with(&mut self, pod: &PodKey, container: &str, act: impl FnOnce(&mut Machine, &ContainerId)) {
        if let Some(seen) = self.engine.find(pod, container) {
            act(&mut self.engine.machine_mut(), &seen.id);
        }
    }

    /// Whatever can still go wrong is taken back: ports are free, images are there, what was paused by hand
    /// is resumed, the source can be read, no call fails any more.
    pub fn calm(&mut self) {
        self.engine.heal();
        {
            let mut machine = self.engine.machine_mut();
            machine.foreign_ports.clear();
            machine.unpullable.clear();
            let paused: Vec<_> = machine
                .containers
                .values()
                .filter(|c| c.phase == Phase::Paused)
                .map(|c| c.id.clone())
                .collect();
            for id in paused {
                // Nothing to answer: it is there and paused.
                let _ = machine.unpause(&id);
            }
        }
        self.all_readable();
    }
}

impl Machine {
    /// `docker container prune`: removes all that do not run.
    pub fn prune(&mut self) {
        let down: Vec<_> = self.containers.values().filter(|c| !c.is_up()).map(|c| c.id.clone()).collect();
        for id in down {
            self.vanish(&id);
        }
    }
}
