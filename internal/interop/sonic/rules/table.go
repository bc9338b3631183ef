package rules

// table has the rules by number. Cases are issues and pull requests of
// sonic-net: SONiC, sonic-buildimage (bi), sonic-swss (swss), sonic-mgmt (mgmt).
var table = []Rule{
	{
		1, "headroom", Error, []string{"CABLE_LENGTH", "PORT", "BUFFER_PG", "BUFFER_PROFILE"},
		"xoff of a lossless priority group is less than what arrives after XOFF",
		"frames that are on their way when XOFF is sent are dropped", "SONiC#480; TD3 went from 61440 to 160000 B after interop tests", headroomTooSmall,
	},
	{
		2, "pfc without headroom", Error, []string{"PORT_QOS_MAP", "BUFFER_PG"},
		"a priority of pfc_enable whose priority group has no profile, or one without xoff",
		"the port obeys PAUSE but can neither send XOFF nor hold what arrives after it", "SONiC#480", pfcWithoutHeadroom,
	},
	{
		3, "headroom without pfc", Error, []string{"PORT_QOS_MAP", "BUFFER_PG"},
		"a priority group with headroom whose priority is not in pfc_enable",
		"no XOFF is ever sent for it: the headroom fills and drops", "swss#1055 (the reverse)", headroomWithoutPFC,
	},
	{
		4, "two sides disagree", Error, []string{"DSCP_TO_TC_MAP", "TC_TO_PRIORITY_GROUP_MAP", "TC_TO_QUEUE_MAP", "BUFFER_PG", "BUFFER_QUEUE"},
		"a traffic class that enters by a lossless priority group and leaves by a lossy queue, or the reverse",
		"a frame is lossless only if both its ingress and its egress are", "bi#27310, bi#11157", sidesDisagree,
	},
	{
		5, "wrong queue is paused", Error, []string{"TC_TO_QUEUE_MAP", "MAP_PFC_PRIORITY_TO_QUEUE"},
		"the queue of a lossless traffic class is not the one that a PAUSE of its priority stops",
		"a PAUSE stops another queue; this one goes on and overruns the peer", "", wrongQueuePaused,
	},
	{
		6, "classes share a group", Error, []string{"TC_TO_PRIORITY_GROUP_MAP"},
		"several traffic classes in one lossless priority group",
		"control or lossy traffic is paused with the lossless class, or two lossless classes block each other", "bi#10608", classesShareGroup,
	},
	{
		7, "egress refuses", Error, []string{"BUFFER_POOL", "BUFFER_PROFILE"},
		"egress pool or limit of a lossless queue is smaller than what ingress can admit",
		"a lossless frame that ingress has taken is dropped at its egress queue, before headroom is used up", "bi#21320, mgmt#17149", egressRefuses,
	},
	{
		8, "more than the chip has", Error, []string{"BUFFER_POOL", "BUFFER_PG", "PORT"},
		"pools, headroom pool and minimums exceed the memory of the chip, or other limits of pools and ports",
		"the switch refuses the pools, or promises bytes twice", "bi#28657", tooMuchMemory,
	},
	{
		9, "no profile can be made", Error, []string{"CABLE_LENGTH", "PORT", LookupTable},
		"traditional model: neither a row for speed and cable in the lookup file nor a profile of that name",
		"the switch only logs it, and the port has no lossless priority groups", "bi#5837, bi#23059", noProfile,
	},
	{
		10, "pfc without cable", Error, []string{"CABLE_LENGTH", "PORT_QOS_MAP"},
		"pfc_enable on a port whose cable is 0m or not given",
		"a cable of 0m tells the switch to make no lossless priority groups", "swss#465, SONiC#195", pfcWithoutCable,
	},
	{
		11, "stale profile", Warning, []string{"CABLE_LENGTH", "PORT", "BUFFER_PG"},
		"the name of a priority group's profile carries another speed or cable than the port has",
		"the headroom is that of another link", "bi#1602, swss#4004", staleProfile,
	},
	{
		12, "profile unlike lookup", Warning, []string{"BUFFER_PROFILE", LookupTable},
		"a profile has other numbers than the row of the lookup file",
		"a profile that is there is reused without a word: changes of the lookup file have no effect", "", unlikeLookup,
	},
	{
		13, "headroom pool", Warning, []string{"BUFFER_POOL", "BUFFER_PG"},
		"lossless priority groups together may take more than the shared headroom pool has; error if one alone may",
		"the pool can run dry when many ports pause at once, and then frames are dropped", "mgmt#7113", oversubscribed,
	},
	{
		14, "headroom is not reserved", Error, []string{"BUFFER_POOL", "BUFFER_PROFILE"},
		"no shared headroom pool, and size of a lossless profile does not hold its headroom",
		"the headroom exists on paper only", "swss#1581", notReserved,
	},
	{
		15, "ecn above pfc", Warning, []string{"WRED_PROFILE", "QUEUE", "BUFFER_PG"},
		"a queue marks from more on than one priority group may hold before it pauses; note if only its upper threshold is above",
		"PFC acts before congestion control sees a mark", "bi#4564, bi#11449", ecnAbovePFC,
	},
	{
		16, "wred drops lossless", Error, []string{"WRED_PROFILE", "QUEUE"},
		"WRED without ECN on a lossless queue; warning if ECN is set but no colour is enabled",
		"WRED without ECN drops by design; without an enabled colour nothing is marked", "bi#27606, bi#4545", wredDrops,
	},
	{
		17, "not watched", Warning, []string{"PORT_QOS_MAP", "PFC_WD"},
		"a priority of pfc_enable that is not in pfcwd_sw_enable, or a port without an entry in PFC_WD",
		"a storm of PAUSE on it is never ended; pfc_enable alone has left no watchdog since 2022", "bi#9292, bi#20589", notWatched,
	},
	{
		18, "watchdog times", Warning, []string{"PFC_WD"},
		"detection or restoration time below the poll interval, or no multiple of it; no restoration time",
		"times count in polls; without a restoration time a queue is never restored", "bi#27865", watchdogTimes,
	},
	{
		19, "watchdog action", Warning, []string{"PFC_WD"},
		"action forward or alert on a lossless port; error if Broadcom ports have different actions",
		"only drop breaks a deadlock; Broadcom's recovery has one action for the whole switch", "", watchdogAction,
	},
	{
		20, "refused", Error, []string{"BUFFER_PROFILE", "BUFFER_POOL"},
		"references to nothing, numbers out of their range, profiles with no threshold or with two",
		"the switch refuses the entry, and what refers to it", "YANG models", refused,
	},
	{
		21, "resume", Warning, []string{"BUFFER_PROFILE"},
		"xon and xon_offset both 0, or xon above the level at which the group pauses",
		"the group resumes as soon as it has paused: PAUSE and RESUME follow each other per frame", "bi#19849", resumes,
	},
	{
		22, "ports differ", Warning, []string{"PORT_QOS_MAP"},
		"ports of one switch with different pfc_enable or DSCP maps",
		"a flow is lossless at one port and not at the next; unequal classes make cyclic dependencies", "SONiC#950", portsDiffer,
	},
	{
		23, "jumbo frames", Warning, []string{"PORT", "BUFFER_PROFILE"},
		"mtu of a lossless port above the 9100 B that profiles of headroom count with",
		"one larger frame each way is missing in the headroom", "", jumbo,
	},
	{
		24, "starvation", Warning, []string{"SCHEDULER", "QUEUE"},
		"a lossless queue without scheduler, or below a strict queue without a rate; note if only network control is in that one",
		"a queue that is starved looks like one in a storm of PAUSE", "", starvation,
	},
	{
		25, "lossy in the lossless pool", Note, []string{"BUFFER_PG", "BUFFER_PROFILE"},
		"a lossy profile in the lossless ingress pool that may take all of it, or more than a lossless group",
		"a lossy burst lowers the level at which lossless groups pause; most shipped files do this", "", lossyInLossless,
	},
	{
		26, "malformed", Error, []string{"all"},
		"references with and without brackets in one file, ranges that do not rise, overlapping ranges, blanks in numbers",
		"what the switch makes of it depends on its release, or on chance", "bi#25626", malformed,
	},
	{
		27, "same thresholds at different speeds", Note, []string{"WRED_PROFILE", "PORT"},
		"one WRED profile on ports of different speeds",
		"the lower threshold should grow with speed x round-trip time", "bi#11449", sameThresholds,
	},
	{
		28, "asymmetric pfc", Warning, []string{"PORT", "PORT_QOS_MAP"},
		"pfc_asym is on",
		"the port obeys PAUSE of all 8 priorities: queues that nobody watches can be paused", "", asymmetric,
	},
}

// LookupTable stands for the lookup file among tables.
const LookupTable = "lookup file"
