package rules

// table has the rules by number. Cases are issues and pull requests of sonic-net in
// SONiC, sonic-buildimage (bi), sonic-swss (swss) and sonic-mgmt (mgmt).
var table = []Rule{
	{
		1, "headroom", Error, []string{"CABLE_LENGTH", "PORT", "BUFFER_PG", "BUFFER_PROFILE"},
		"xoff of a lossless priority group is less than the bytes that arrive after XOFF",
		"frames in flight when XOFF is sent are dropped", "SONiC#480; TD3 went from 61440 to 160000 B after interop tests", headroomTooSmall,
	},
	{
		2, "pfc without headroom", Error, []string{"PORT_QOS_MAP", "BUFFER_PG"},
		"a priority in pfc_enable whose priority group has no profile, or a profile without xoff",
		"the port obeys PAUSE but can neither send XOFF nor store what arrives after it", "SONiC#480", pfcWithoutHeadroom,
	},
	{
		3, "headroom without pfc", Error, []string{"PORT_QOS_MAP", "BUFFER_PG"},
		"a priority group with headroom whose priority is not in pfc_enable",
		"the group never sends XOFF: its headroom fills, then frames are dropped", "swss#1055 (the reverse)", headroomWithoutPFC,
	},
	{
		4, "two sides disagree", Error, []string{"DSCP_TO_TC_MAP", "TC_TO_PRIORITY_GROUP_MAP", "TC_TO_QUEUE_MAP", "BUFFER_PG", "BUFFER_QUEUE"},
		"a traffic class that enters through a lossless priority group and leaves through a lossy queue, or the reverse",
		"a frame is lossless only if both its ingress and its egress are lossless", "bi#27310, bi#11157", sidesDisagree,
	},
	{
		5, "wrong queue is paused", Error, []string{"TC_TO_QUEUE_MAP", "MAP_PFC_PRIORITY_TO_QUEUE"},
		"a PAUSE of a lossless traffic class's priority does not pause the class's queue",
		"a PAUSE pauses another queue; this one keeps sending and overruns the peer", "", wrongQueuePaused,
	},
	{
		6, "classes share a group", Error, []string{"TC_TO_PRIORITY_GROUP_MAP"},
		"several traffic classes in one lossless priority group",
		"control or lossy traffic is paused with the lossless class, or two lossless classes block each other", "bi#10608", classesShareGroup,
	},
	{
		7, "egress refuses", Error, []string{"BUFFER_POOL", "BUFFER_PROFILE"},
		"the egress pool or limit of a lossless queue is smaller than what ingress can admit",
		"a lossless frame that ingress has admitted is dropped at its egress queue, before headroom is used up", "bi#21320, mgmt#17149", egressRefuses,
	},
	{
		8, "more than the chip has", Error, []string{"BUFFER_POOL", "BUFFER_PG", "PORT"},
		"pools, headroom pool and minimums exceed the chip's memory or other limits of pools and ports",
		"the switch rejects the pools, or guarantees the same bytes twice", "bi#28657", tooMuchMemory,
	},
	{
		9, "no profile can be made", Error, []string{"CABLE_LENGTH", "PORT", LookupTable},
		"traditional model: no lookup row for speed and cable, and no profile of that name; needs a lookup file",
		"the switch only logs an error, and the port has no lossless priority groups", "bi#5837, bi#23059", noProfile,
	},
	{
		10, "pfc without cable", Error, []string{"CABLE_LENGTH", "PORT_QOS_MAP"},
		"pfc_enable on a port whose cable length is 0m or missing",
		"with a cable length of 0m, the switch creates no lossless priority groups", "swss#465, SONiC#195", pfcWithoutCable,
	},
	{
		11, "stale profile", Warning, []string{"CABLE_LENGTH", "PORT", "BUFFER_PG"},
		"the name of a priority group's profile contains a different speed or cable than the port's",
		"the headroom was sized for a different link", "bi#1602, swss#4004", staleProfile,
	},
	{
		12, "profile unlike lookup", Warning, []string{"BUFFER_PROFILE", LookupTable},
		"a profile has different numbers than its row in the lookup file",
		"an existing profile is silently reused: changes to the lookup file have no effect", "", differsFromLookup,
	},
	{
		13, "headroom pool", Warning, []string{"BUFFER_POOL", "BUFFER_PG"},
		"lossless priority groups together may use more than the shared headroom pool has; error if a single group may",
		"when many ports pause at once, the pool can be exhausted, and frames are dropped", "mgmt#7113", oversubscribed,
	},
	{
		14, "headroom is not reserved", Error, []string{"BUFFER_POOL", "BUFFER_PROFILE"},
		"there is no shared headroom pool, and the size of a lossless profile does not include its headroom",
		"the headroom is configured but not reserved", "swss#1581", notReserved,
	},
	{
		15, "ecn above pfc", Warning, []string{"WRED_PROFILE", "QUEUE", "BUFFER_PG"},
		"marking starts above the level at which a single priority group pauses; note if only the maximum threshold is above",
		"PFC acts before congestion control sees a mark", "bi#4564, bi#11449", ecnAbovePFC,
	},
	{
		16, "wred drops lossless", Error, []string{"WRED_PROFILE", "QUEUE"},
		"WRED without ECN on a lossless queue; warning if ECN is set but no colour is enabled",
		"WRED without ECN drops by design; without an enabled colour nothing is marked", "bi#27606, bi#4545", wredDrops,
	},
	{
		17, "not watched", Warning, []string{"PORT_QOS_MAP", "PFC_WD"},
		"a priority in pfc_enable that is not in pfcwd_sw_enable, or a port without an entry in PFC_WD",
		"nothing ends a PAUSE storm; since 2022, pfc_enable alone no longer enables the watchdog", "bi#9292, bi#20589", notWatched,
	},
	{
		18, "watchdog times", Warning, []string{"PFC_WD"},
		"detection or restoration time below the poll interval or not a multiple of it; no restoration time",
		"the watchdog counts polls; without a restoration time, a queue is never restored", "bi#27865", watchdogTimes,
	},
	{
		19, "watchdog action", Warning, []string{"PFC_WD"},
		"action forward or alert on a lossless port; error if Broadcom ports have different actions",
		"only drop resolves a deadlock; Broadcom's recovery has one action for the whole switch", "", watchdogAction,
	},
	{
		20, "refused", Error, []string{"BUFFER_PROFILE", "BUFFER_POOL"},
		"references to missing entries, numbers out of range, profiles with no threshold or two, pools of the wrong type",
		"the switch rejects the entry and everything that refers to it", "YANG models", refused,
	},
	{
		21, "resume", Warning, []string{"BUFFER_PROFILE"},
		"xon and xon_offset are both 0, or xon is above the threshold at which the group pauses",
		"the group resumes as soon as it has paused: it sends PAUSE and RESUME for every frame", "bi#19849", resumes,
	},
	{
		22, "ports differ", Warning, []string{"PORT_QOS_MAP"},
		"ports of one switch with different pfc_enable or DSCP maps",
		"a flow is lossless at one port and not at the next; different classes cause cyclic dependencies", "SONiC#950", portsDiffer,
	},
	{
		23, "jumbo frames", Warning, []string{"PORT", "BUFFER_PROFILE"},
		"the mtu of a lossless port is above the 9100 B that headroom profiles assume",
		"the headroom does not cover one larger frame in each direction", "", jumbo,
	},
	{
		24, "starvation", Warning, []string{"SCHEDULER", "QUEUE"},
		"a lossless queue without a scheduler or below an unlimited strict queue; note if that one carries only network control",
		"a starved queue looks like a queue in a PAUSE storm", "", starvation,
	},
	{
		25, "lossy in the lossless pool", Note, []string{"BUFFER_PG", "BUFFER_PROFILE"},
		"a lossy profile in the lossless ingress pool that may take all of it, or more than a lossless group",
		"a lossy burst lowers the threshold at which lossless groups pause; most shipped files do this", "", lossyInLossless,
	},
	{
		26, "malformed", Error, []string{"all"},
		"references with and without brackets in one file, ranges that do not increase, overlapping ranges, blanks in numbers",
		"the result depends on the switch's release, or is undefined", "bi#25626", malformed,
	},
	{
		27, "same thresholds at different speeds", Note, []string{"WRED_PROFILE", "PORT"},
		"one WRED profile on ports of different speeds",
		"the minimum threshold should grow with speed x round-trip time", "bi#11449", sameThresholds,
	},
	{
		28, "asymmetric pfc", Warning, []string{"PORT", "PORT_QOS_MAP"},
		"pfc_asym is on",
		"the port obeys PAUSE of all 8 priorities: queues without a watchdog can be paused", "", asymmetric,
	},
	{
		29, "no speed", Warning, []string{"PORT"},
		"a port without speed; the switch is not judged if the port is lossless",
		"headroom depends on the speed, and the switch finds no profile without it", "", noSpeed,
	},
	{
		30, "port not mentioned", Warning, []string{"PORT", "PORT_QOS_MAP"},
		"a port without an entry in PORT_QOS_MAP on a switch with PFC; note if the port is down",
		"the port neither pauses nor obeys PAUSE: lossless traffic is dropped there", "", portNotMentioned,
	},
	{
		31, "nothing lossless", Warning, []string{"PORT_QOS_MAP", "BUFFER_PG"},
		"no traffic class is lossless on any port, or no frame maps to a lossless class",
		"there is nothing to judge: all traffic can be dropped", "", nothingLossless,
	},
}

// LookupTable represents the lookup file in lists of tables.
const LookupTable = "lookup file"
