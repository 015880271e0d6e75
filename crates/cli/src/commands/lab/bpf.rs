//! The library's disciplines in the guest's kernel, as BPF programs.

use fairlane_lab::{Lab, LabError};
use fairlane_scenario::Scenario;

/// Returns the lab with the BPF program of the scenario's discipline in place of the library's.
#[cfg(feature = "bpf")]
pub(super) fn with_program(lab: Lab, scenario: &Scenario) -> Result<Lab, LabError> {
    use fairlane_lab::Installer;

    let program = program(scenario).map_err(LabError::Elsewhere)?;
    let install = move |interface: &str| match fairlane_bpf::attach(interface, &program) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    };
    lab.with_installed(Installer::new("bpf", install))
}

/// Returns the program. The kernel counts the Ethernet header as a part of a packet; its link is as much faster.
#[cfg(feature = "bpf")]
fn program(scenario: &Scenario) -> Result<fairlane_bpf::Program, String> {
    use fairlane_qdisc::Rate;

    const ETHERNET: u64 = 14;
    let side = &scenario.links.first().ok_or("there is no link")?.forward;
    let packet = scenario.flows.iter().map(|group| group.packet.get()).max().unwrap_or(1).max(1);
    let bits = u128::from(side.rate.bits_per_second()) * u128::from(packet + ETHERNET) / u128::from(packet);
    let rate = Rate::from_bits_per_second(u64::try_from(bits).unwrap_or(u64::MAX));
    fairlane_bpf::Program::new(&side.queue, rate).map_err(|error| error.to_string())
}

#[cfg(not(feature = "bpf"))]
pub(super) fn with_program(_lab: Lab, _scenario: &Scenario) -> Result<Lab, LabError> {
    Err(LabError::Elsewhere("--against-bpf needs a build with the feature bpf".to_owned()))
}
