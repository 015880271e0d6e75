"""CHOKe in plain Python, from its paper and from RED's: the reference for the library's discipline."""

import fairlane as fl


class Choke(fl.Discipline):
    """RED's average and curve, with one candidate drawn from the queue for each arrival."""

    name = "choke-reference"
    limit = 300
    low = 100.0
    high = 200.0
    probability = 0.1
    weight = 0.002
    mean_packet = 1000

    def __init__(self, host: fl.Host) -> None:
        super().__init__(host)
        self.queue: list[fl.Packet] = []
        self.avg = 0.0
        self.count = -1
        self.idle_since: float | None = 0.0
        self.slot = 8 * self.mean_packet / host.rate_bps

    def average(self) -> float:
        return self.avg

    def enqueue(self, now: float, packet: fl.Packet, sink: fl.DropSink) -> None:
        if self.idle_since is not None:
            self.avg *= (1 - self.weight) ** int((now - self.idle_since) / self.slot)
            self.idle_since = None
        self.avg += self.weight * (len(self.queue) - self.avg)
        if self.avg <= self.low:
            self.count = -1
        elif self.queue and self.matches(packet, sink):
            return
        elif self.avg >= self.high:
            sink.dropped(packet, "forced")
            return
        elif self.early():
            sink.dropped(packet, "early")
            return
        if len(self.queue) >= self.limit:
            sink.dropped(packet, "limit")
        else:
            self.queue.append(packet)

    def matches(self, packet: fl.Packet, sink: fl.DropSink) -> bool:
        place = self.candidate()
        if self.queue[place].flow != packet.flow:
            return False
        sink.dropped(self.queue.pop(place), "match_victim")
        sink.dropped(packet, "match_arrival")
        return True

    def candidate(self) -> int:
        return self.random.randrange(len(self.queue))

    def early(self) -> bool:
        self.count += 1
        base = self.probability * (self.avg - self.low) / (self.high - self.low)
        spaced = self.count * base
        if self.random.random() < (base / (1 - spaced) if spaced < 1 else 1.0):
            self.count = 0
            return True
        return False

    def dequeue(self, now: float, sink: fl.DropSink) -> fl.Packet | None:  # noqa: ARG002 - it is what disciplines are asked
        if self.queue:
            return self.queue.pop(0)
        if self.idle_since is None:
            self.idle_since = now
        return None


class AlwaysTheHead(Choke):
    """A faulty CHOKe: the candidate is the head of the queue."""

    def candidate(self) -> int:
        return 0


class SparesTheVictim(Choke):
    """A faulty CHOKe: of the two packets only the arriving one is dropped."""

    def matches(self, packet: fl.Packet, sink: fl.DropSink) -> bool:
        if self.queue[self.candidate()].flow != packet.flow:
            return False
        sink.dropped(packet, "match_arrival")
        return True
