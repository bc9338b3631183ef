// Package sonic reads the configuration of SONiC switches, for packages rules and convert.
// It reads every form of config_db.json, and the headroom table pg_profile_lookup.ini
// next to it. It then adds what the switch derives itself: profiles of lossless priority
// groups and computed pool sizes.
//
// The package does not judge configurations. Unreadable input is an error with file,
// table, key and field. Readable but wrong entries are recorded in Switch.Mistakes.
package sonic
