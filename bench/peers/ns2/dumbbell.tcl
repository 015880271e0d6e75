# A dumbbell in ns-2: TCP and CBR over one bottleneck.
#
#   ns dumbbell.tcl -tcp 32 -udp 1 -rate 1000000 …
#
# Every parameter is required, so that no default can differ from the scenario's.
# Rates are bit/s, times seconds, sizes bytes, queue lengths packets. The result is one JSON object on stdout.
# The runner `bench/peers/run` derives the arguments from a scenario file.

set PARAMETERS {
    tcp         "number of TCP flows"
    cc          "reno, newreno or sack"
    preset      "ns2-1999 (the defaults of that time) or ns2-2.35 (the defaults of this version)"
    window      "receiver window, packets"
    udp         "number of CBR flows"
    udprate     "rate of each CBR flow"
    packet      "size of a data packet on the wire"
    ack         "size of an acknowledgement on the wire"
    rate        "rate of the bottleneck"
    delay       "propagation delay of the bottleneck"
    accessrate  "rate of a host's link"
    accessdelay "propagation delay of a host's link"
    accesslimit "queue of a host's link, both directions, and of the bottleneck's reverse direction"
    queue       "droptail or red"
    limit       "packets that the bottleneck's queue can hold"
    min         "RED: lower threshold"
    max         "RED: upper threshold"
    probability "RED: drop probability at the upper threshold"
    weight      "RED: weight of a sample in the average"
    wait        "RED: 1 to space drops out (at least 1/p packets apart), 0 not to"
    gentle      "RED: 1 for a slope between max and 2 max, 0 for a step"
    hosts       "host pairs for the TCP flows and as many for the UDP flows; 0 for a pair for each flow"
    duration    "end of the run"
    warmup      "start of the measurement"
    starts      "flows start at moments drawn uniformly from 0 to this"
    seed        "seed of every random number, at least 1"
}

proc fail {message} {
    puts stderr "dumbbell.tcl: $message"
    exit 2
}

proc read_arguments {arguments} {
    global PARAMETERS option
    array set known $PARAMETERS
    if {[llength $arguments] % 2 != 0} { fail "every parameter needs a value" }
    foreach {flag value} $arguments {
        set key [string range $flag 1 end]
        if {![info exists known($key)]} { fail "there is no parameter $flag" }
        set option($key) $value
    }
    foreach {key meaning} $PARAMETERS {
        if {![info exists option($key)]} { fail "-$key is missing: $meaning" }
    }
    if {$option(seed) < 1} { fail "-seed $option(seed): ns-2 takes 0 to mean the clock" }
}

# CPU seconds of this process so far, by the scheduler's count; -1 if there is none.
proc cpu_seconds {} {
    if {[catch { open /proc/self/schedstat } file]} { return -1 }
    set nanoseconds [lindex [gets $file] 0]
    close $file
    return [expr { $nanoseconds / 1e9 }]
}

# Restores the defaults of 1999 that have changed since, by ns-2's change log.
proc use_tcp_of_1999 {} {
    Agent/TCP set tcpTick_ 0.1
    Agent/TCP set minrto_ 0
    Agent/TCP set maxrto_ 64
    Agent/TCP set rtxcur_init_ 6.0
    Agent/TCP set rfc2988_ false
    Agent/TCP set timerfix_ false
    Agent/TCP set windowInit_ 1
    Agent/TCP set syn_ false
    Agent/TCP set delay_growth_ false
    Agent/TCP set singledup_ 0
    Agent/TCP set precisionReduce_ false
    Agent/TCP set bugfix_ss_ 0
    Agent/TCP/Newreno set newreno_changes1_ 0
    Agent/TCP/Newreno set partial_window_deflation_ 0
}

proc set_tcp_defaults {} {
    global option
    switch -- $option(preset) {
        ns2-1999 { use_tcp_of_1999 }
        ns2-2.35 { }
        default  { fail "-preset $option(preset): ns2-1999 or ns2-2.35" }
    }
    # `packet` is the size on the wire, so no header is added to it.
    Agent/TCP set useHeaders_ false
    Agent/TCP set packetSize_ $option(packet)
    Agent/TCP set window_ $option(window)
    Agent/TCPSink set packetSize_ $option(ack)
}

# ns-2's DropTail holds one packet less than its limit, its RED holds the limit.
proc drop_tail_limit {packets} { return [expr { $packets + 1 }] }

proc set_queue_defaults {} {
    global option
    Queue/DropTail set limit_ [drop_tail_limit $option(accesslimit)]
    Queue/RED set limit_ $option(limit)
    Queue/RED set bytes_ false
    Queue/RED set queue_in_bytes_ false
    Queue/RED set mean_pktsize_ $option(packet)
    Queue/RED set thresh_ $option(min)
    Queue/RED set maxthresh_ $option(max)
    Queue/RED set linterm_ [expr { 1.0 / $option(probability) }]
    Queue/RED set q_weight_ $option(weight)
    Queue/RED set wait_ $option(wait)
    Queue/RED set gentle_ $option(gentle)
    Queue/RED set setbit_ false
    Queue/RED set adaptive_ 0
    Queue/RED set feng_adaptive_ 0
    Queue/RED set cautious_ 0
    Queue/RED set drop_tail_ true
}

# The bottleneck between two new routers, with static routes that default to the other side.
proc make_bottleneck {} {
    global ns option left right
    set left [$ns node]
    set right [$ns node]
    switch -- $option(queue) {
        droptail { set discipline DropTail }
        red      { set discipline RED }
        default  { fail "-queue $option(queue): droptail or red" }
    }
    $ns simplex-link $left $right $option(rate) $option(delay) $discipline
    $ns simplex-link $right $left $option(rate) $option(delay) DropTail
    if {$discipline eq "DropTail"} {
        [[$ns link $left $right] queue] set limit_ [drop_tail_limit $option(limit)]
    }
    [$left get-module Manual] add-route-to-adj-node -default $right
    [$right get-module Manual] add-route-to-adj-node -default $left
}

proc make_host {router} {
    global ns option
    set host [$ns node]
    $ns duplex-link $host $router $option(accessrate) $option(accessdelay) DropTail
    [$host get-module Manual] add-route-to-adj-node -default $router
    [$router get-module Manual] add-route-to-adj-node $host
    return $host
}

# Pairs of hosts for `flows` flows: one for each, or `hosts` that they share.
proc make_pairs {flows} {
    global option left right
    set count [expr { $option(hosts) > 0 && $option(hosts) < $flows ? $option(hosts) : $flows }]
    set pairs {}
    for {set i 0} {$i < $count} {incr i} {
        lappend pairs [list [make_host $left] [make_host $right]]
    }
    return $pairs
}

# Joins a sending and a receiving agent over the hosts of the flow's turn.
proc join_agents {pairs index source sink group} {
    global ns
    foreach {from to} [lindex $pairs [expr { $index % [llength $pairs] }]] break
    $source set fid_ $group
    $sink set fid_ $group
    $ns attach-agent $from $source
    $ns attach-agent $to $sink
    $ns connect $source $sink
}

proc make_tcp_flows {group} {
    global ns option random
    array set classes {reno {Reno TCPSink} newreno {Newreno TCPSink} sack {Sack1 TCPSink/Sack1}}
    if {![info exists classes($option(cc))]} { fail "-cc $option(cc): reno, newreno or sack" }
    foreach {sender receiver} $classes($option(cc)) break
    set pairs [make_pairs $option(tcp)]
    for {set i 0} {$i < $option(tcp)} {incr i} {
        set source [new Agent/TCP/$sender]
        join_agents $pairs $i $source [new Agent/$receiver] $group
        set ftp [new Application/FTP]
        $ftp attach-agent $source
        $ns at [$random uniform 0 $option(starts)] "$ftp start"
    }
}

proc make_udp_flows {group} {
    global ns option random
    set pairs [make_pairs $option(udp)]
    for {set i 0} {$i < $option(udp)} {incr i} {
        set source [new Agent/UDP]
        $source set packetSize_ $option(packet)
        join_agents $pairs $i $source [new Agent/Null] $group
        set cbr [new Application/Traffic/CBR]
        $cbr set packetSize_ $option(packet)
        $cbr set rate_ $option(udprate)
        $cbr set random_ 0
        $cbr attach-agent $source
        $ns at [$random uniform 0 $option(starts)] "$cbr start"
    }
}

# Counts at the bottleneck, one flow object for each group. ns-2's own flow monitor would keep a delay sample for each
# packet as well; its parts without that are all that is needed.
proc watch_bottleneck {groups} {
    global ns left right monitor lengths counts
    set classifier [new Classifier/Hash/Fid 8]
    foreach {group id} $groups {
        set counts($group) [new QueueMonitor/ED/Flow]
        $classifier set-hash auto 0 0 $id [$classifier installNext $counts($group)]
    }
    set monitor [new QueueMonitor/ED/Flowmon]
    $monitor classifier $classifier
    set lengths [new Integrator]
    $monitor set-pkts-integrator $lengths
    $ns attach-fmon [$ns link $left $right] $monitor
}

# Remembers the counters of this moment under `mark`.
proc take_counts {mark} {
    global ns lengths counts taken
    $lengths newpoint [$ns now] [$lengths set lasty_]
    set taken($mark,area) [$lengths set sum_]
    foreach {group flow} [array get counts] {
        set taken($mark,$group,arrived) [$flow set parrivals_]
        set taken($mark,$group,dropped) [$flow set pdrops_]
        set taken($mark,$group,bytes)   [$flow set bdepartures_]
    }
}

proc counted {what} {
    global taken
    return [expr { $taken(end,$what) - $taken(warm,$what) }]
}

proc percent {part whole} {
    return [expr { $whole > 0 ? 100.0 * $part / $whole : 0.0 }]
}

proc print_result {setup_cpu} {
    global option counts
    set span [expr { $option(duration) - $option(warmup) }]
    set arrived 0
    set dropped 0
    set groups {}
    foreach group [lsort [array names counts]] {
        set group_arrived [counted $group,arrived]
        set group_dropped [counted $group,dropped]
        set arrived [expr { $arrived + $group_arrived }]
        set dropped [expr { $dropped + $group_dropped }]
        lappend groups [format {"%s": {"throughput_bps": %.1f, "drop_percent": %.4f, "arrived": %.0f}} $group \
            [expr { 8.0 * [counted $group,bytes] / $span }] [percent $group_dropped $group_arrived] $group_arrived]
    }
    puts [format {{"groups": {%s}, "drop_percent": %.4f, "mean_packets": %.2f, "setup_cpu_s": %.3f}} \
        [join $groups {, }] [percent $dropped $arrived] [expr { [counted area] / $span }] $setup_cpu]
}

proc finish {} {
    global setup_cpu
    take_counts end
    print_result $setup_cpu
    exit 0
}

read_arguments $argv
# A packet carries every protocol's header unless told otherwise; these are the ones in use.
remove-all-packet-headers
add-packet-header IP TCP RTP Flags
set ns [new Simulator]
$ns rtproto Manual
$defaultRNG seed $option(seed)
set random [new RNG]
set_tcp_defaults
set_queue_defaults
make_bottleneck
make_tcp_flows 1
make_udp_flows 2
watch_bottleneck {tcp 1 udp 2}
$ns at $option(warmup) "take_counts warm"
$ns at $option(duration) finish
set setup_cpu [cpu_seconds]
$ns run
