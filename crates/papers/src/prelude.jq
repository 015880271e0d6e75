# The functions of measures and checks, in addition to jq's own.
def group($name): first(.groups[] | select(.name == $name));
def queue($name): first(.queues[] | select(.name == $name));
def flow($name): first(.flows[] | select(.name == $name));
def flows($group): [.flows[] | select(.group == $group)];
def at_queue($queue; $group): queue($queue) | group($group);
def total($dropped): [$dropped[]] | add + 0;
def mean: add / length;
def variance: mean as $mean | (map((. - $mean) | . * .) | add) / (length - 1);
def deviation: variance | sqrt;
def cv: deviation / mean;
def jain: (add | . * .) / (length * (map(. * .) | add));
def falls($time; $value; $bound): [range(1; $value | length) | select($value[.] < $bound and $value[. - 1] >= $bound) | $time[.]];
def row($at): first(.[] | select(. as $row | all($at | keys[]; $row[.] == $at[.])));
def number:
  if type == "number" then .
  else . as $text | first(
    (["gbit", 1e9], ["mbit", 1e6], ["kbit", 1e3], ["bit", 1], ["mb", 1e6], ["kb", 1e3], ["b", 1],
     ["ms", 1e-3], ["us", 1e-6], ["s", 1], ["p", 1], ["", 1]) as [$unit, $factor]
    | select($text | endswith($unit)) | try ($text | rtrimstr($unit) | tonumber * $factor) catch empty)
  end;
