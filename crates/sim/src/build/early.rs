//! Which hosts can take packets [early](crate::flow::hosts).

use fairlane_scenario::{Application, FlowGroup, Tcp, Traffic};

/// Returns true if nothing but data and its own timer changes a receiver of this group.
pub(crate) fn receives_early(group: &FlowGroup) -> bool {
    match &group.traffic {
        Traffic::Udp(_) => true,
        Traffic::Tcp(tcp) => {
            group.later_phases.is_empty() && matches!(tcp.application, Application::Ftp | Application::OnOff(_))
        }
        Traffic::Tfrc(_) | Traffic::Endpoint => false,
    }
}

/// Returns true if nothing but acknowledgements and its own timers changes a sender of this group once it has started.
/// One that paces sends more often by its timer than after an acknowledgement.
pub(crate) fn sends_early(group: &FlowGroup) -> bool {
    let Traffic::Tcp(Tcp { application: Application::Ftp, pacing: false, congestion, .. }) = &group.traffic else {
        return false;
    };
    group.stop.is_none() && group.later_phases.is_empty() && !congestion.always_paces()
}
