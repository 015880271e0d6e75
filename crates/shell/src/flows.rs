//! The scenario's own flows next to the command.

use std::io;
use std::sync::Arc;

use fairlane_lab::{End, HostedCounts, HostedFlows, LabError};
use fairlane_linux::rtnetlink::{Route, RouteSocket};
use nix::unistd::Pid;

use crate::address::Addresses;
use crate::error::{ShellError, setup};
use crate::isolate::INTERFACE;
use crate::relay::{Namespace, OUT};

/// Flows whose left hosts are at the far end, and whose right hosts are inside.
pub(crate) struct RunningFlows {
    flows: Arc<HostedFlows>,
    /// Ends with the flows.
    _inside: Namespace,
}

impl RunningFlows {
    /// Starts the flows over the link, which carries packets already. `inside` is a process of the command's namespace.
    pub(crate) fn start(
        flows: HostedFlows,
        inside: Pid,
        far: &Namespace,
        addresses: Addresses,
    ) -> Result<Self, ShellError> {
        let flows = Arc::new(flows);
        let inside = Namespace::of_process("shell-inside", inside.as_raw() as u32)?;
        let ([at_gateway, _], [at_inside, _]) = (addresses.gateway(), addresses.inside());
        let routes = |local, via, interface: &'static str| {
            move || {
                let route = RouteSocket::open()?;
                let (own, other) = if local == End::Left { (End::Left, End::Right) } else { (End::Right, End::Left) };
                let own = Route { to: HostedFlows::network(own), via: None, interface: "lo", local: true };
                route.add_route(&own)?;
                let other = Route { to: HostedFlows::network(other), via: Some(via), interface, local: false };
                route.add_route(&other)
            }
        };
        far.run(routes(End::Left, at_inside, OUT)).map_err(setup("the routes of the scenario's flows"))?;
        inside.run(routes(End::Right, at_gateway, INTERFACE)).map_err(setup("the routes of the scenario's flows"))?;
        for (end, namespace) in [(End::Left, far), (End::Right, &inside)] {
            part(namespace, &flows, move |flows| flows.receive(end))?;
        }
        for (end, namespace) in [(End::Left, far), (End::Right, &inside)] {
            part(namespace, &flows, move |flows| flows.send(end))?;
        }
        flows.begin();
        Ok(Self { flows, _inside: inside })
    }

    /// Ends the flows and returns their counts.
    pub(crate) fn stop(self) -> Result<Vec<HostedCounts>, ShellError> {
        let flows =
            Arc::into_inner(self.flows).ok_or_else(|| setup("the flows")(io::Error::other("they are in use")))?;
        Ok(flows.end()?)
    }
}

/// Starts a part of the flows in a namespace.
fn part(
    namespace: &Namespace,
    flows: &Arc<HostedFlows>,
    start: impl FnOnce(&HostedFlows) -> Result<(), LabError> + Send + 'static,
) -> Result<(), ShellError> {
    let flows = flows.clone();
    Ok(namespace.run(move || Ok(start(&flows))).map_err(setup("the flows"))??)
}
