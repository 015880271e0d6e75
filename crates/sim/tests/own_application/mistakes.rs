//! Mistakes of applications, and of programs that bring them.

use std::num::NonZeroUsize;

use fairlane_outcome::VideoRun;
use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::Document;
use fairlane_sim::application::{Application, ApplicationGroup, Client, Server};
use fairlane_sim::{Control, Undivided, run_all, run_on, undivided};

use super::{Outcome, Player, each, run_own, scenario};

/// Where an application makes its mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Nowhere,
    Start,
    Data,
    Acknowledged,
    Request,
    Timer,
    Wake,
    Stop,
    Measurement,
    Video,
    Large,
    Nobody,
    Endless,
}

#[derive(Debug)]
struct Mistaken(Place);

impl Mistaken {
    fn at(&self, place: Place) {
        assert!(self.0 != place, "at {place:?}");
    }
}

impl Application for Mistaken {
    fn on_start(&mut self, server: &mut Server<'_>) {
        self.at(Place::Start);
        server.send(20);
        server.set_timer(server.now() + Duration::from_millis(100));
        server.wake(0, server.now() + Duration::from_millis(200));
        if self.0 == Place::Nobody {
            server.wake(2, server.now());
        }
    }
    fn on_data(&mut self, _received: u32, client: &mut Client<'_>) {
        self.at(Place::Data);
        client.request(if self.0 == Place::Large { 1001 } else { 1000 }, Duration::ZERO);
    }
    fn on_acknowledged(&mut self, _acknowledged: u32, _server: &mut Server<'_>) {
        self.at(Place::Acknowledged);
    }
    fn on_request(&mut self, _server: &mut Server<'_>) {
        self.at(Place::Request);
    }
    fn on_timer(&mut self, server: &mut Server<'_>) {
        self.at(Place::Timer);
        if self.0 == Place::Endless {
            server.set_timer(Time::ZERO);
        }
    }
    fn on_wake(&mut self, _server: &mut Server<'_>) {
        self.at(Place::Wake);
    }
    fn on_stop(&mut self, _now: Time) {
        self.at(Place::Stop);
    }
    fn begin_measurement(&mut self, _now: Time) {
        self.at(Place::Measurement);
    }
    fn video(&mut self, _now: Time) -> Option<VideoRun> {
        self.at(Place::Video);
        None
    }
}

/// Would catch a mistake that ends the program, passes unseen, or is told without its flow, end and time.
#[test]
fn mistakes_are_errors_with_their_place() -> Outcome {
    let data = Time::from_nanos(12_024_000).as_secs();
    let asked = Time::from_nanos(12_024_000 + 12_024_960).as_secs();
    for (place, end, at, mistake) in [
        (Place::Start, "source", 0.0, "it panicked: at Start"),
        (Place::Data, "sink", data, "it panicked: at Data"),
        (Place::Acknowledged, "source", asked, "it panicked: at Acknowledged"),
        (Place::Request, "source", asked, "it panicked: at Request"),
        (Place::Timer, "source", 0.1, "it panicked: at Timer"),
        (Place::Wake, "source", 0.2, "it panicked: at Wake"),
        (Place::Stop, "source", 0.5, "it panicked: at Stop"),
        (Place::Measurement, "source", 0.0, "it panicked: at Measurement"),
        (Place::Video, "sink", 1.0, "it panicked: at Video"),
        (Place::Large, "sink", data, "a request of 1001 bytes does not fit a packet of 1000; send it in parts"),
        (Place::Nobody, "source", 0.0, "`wake` gave flow 2, which the group does not have; flows are numbered from 0"),
        (
            Place::Endless,
            "source",
            0.1,
            "it was called 65536 times at one time; let its timers and calls of others be later",
        ),
    ] {
        for tcp in ["", "tcp = { preset = \"modern\" }"] {
            let keys = format!("stop = \"500ms\"\n{tcp}");
            let error = run_own("1s", &keys, &each(move |_| Mistaken(place))).unwrap_err().to_string();
            assert_eq!(error, format!("the {end} of flow \"own/0\" at {at} s: {mistake}"));
        }
    }
    Ok(())
}

/// Would catch a batch that loses its other runs, or the mistake, and a run that is divided although flows share state.
#[test]
fn a_mistake_costs_its_own_run_alone() -> Outcome {
    let control = each(|flow| Mistaken(if flow == 1 { Place::Timer } else { Place::Nowhere }));
    let scenarios = [scenario("1s", "")?, scenario("1s", "source = \"mine\"\ncount = 2")?];
    let runs = run_all(&scenarios, 2, &control)?;
    assert_eq!(runs.iter().map(Vec::len).collect::<Vec<_>>(), [2, 0]);
    let faults: Vec<String> = control.faults().iter().map(ToString::to_string).collect();
    let first = "the source of flow \"own/1\" at 0.1 s: it panicked: at Timer";
    assert_eq!(faults, [first, first]);
    assert_eq!(undivided(&scenarios[1])?, Some(Undivided::OwnApplication { group: "own".to_owned() }));
    for threads in [1, 3].map(NonZeroUsize::new).into_iter().flatten() {
        assert_eq!(run_on(&scenarios[1], 0, threads, &control).unwrap_err().to_string(), first);
    }
    Ok(())
}

/// Would catch a name that runs as another application, too few applications, and names that are not listed.
#[test]
fn unknown_names_and_missing_applications_are_errors() -> Outcome {
    let mut document = Document::builtin().with_applications(["mine"]);
    document.set("flows.ftp.source", "mime")?;
    let error = document.scenario().unwrap_err().to_string();
    assert!(error.contains("there is no source of TCP \"mime\"") && error.contains("\"mine\""), "{error}");
    let mut document = Document::builtin().with_applications(["rpc"]);
    document.set("flows.ftp.source", "rpc")?;
    assert!(document.scenario().unwrap_err().to_string().contains("there is more than one source of TCP \"rpc\""));
    let error = run_own("1s", "", &Control::default()).unwrap_err().to_string();
    assert_eq!(
        error,
        "flows \"own\" have the source \"mine\", which the program has to add with Control::with_application; it has added \
         none"
    );
    let few = |_: &ApplicationGroup<'_>| vec![Box::new(Player) as Box<dyn Application>];
    let error = run_own("1s", "count = 2", &Control::default().with_application("mine", few)).unwrap_err();
    assert_eq!(error.to_string(), "flows \"own\" need 2 applications, one each, and the program made 1");
    let none = |_: &ApplicationGroup<'_>| -> Vec<Box<dyn Application>> { panic!("no room") };
    let error = run_own("1s", "", &Control::default().with_application("mine", none)).unwrap_err();
    assert_eq!(error.to_string(), "the source of flow \"own/0\" at 0 s: it panicked: no room");
    Ok(())
}
