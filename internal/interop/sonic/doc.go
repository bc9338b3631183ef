// Package sonic reads the configuration of switches that run SONiC: tables of
// config_db.json in all the forms in which they are found, and the table of
// headroom (pg_profile_lookup.ini) that lies beside them. It completes what such a
// switch would complete itself: profiles of lossless priority groups, and sizes of
// pools where they are computed.
//
// It judges nothing. What cannot be read is an error with file, table, key and
// field; what can be read but is wrong stays in Switch.Mistakes, for those who do.
package sonic
