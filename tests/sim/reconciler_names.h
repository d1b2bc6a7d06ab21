/* SPDX-License-Identifier: MIT */
/* The reconciler's own names for what worker and reconciler both call so: here they are in one program. Included in
 * front of every file of the reconciler. */
#define gauges_fini     reconciler_gauges_fini
#define gauges_init     reconciler_gauges_init
#define gauges_outcome  reconciler_gauges_outcome
#define lane_of         reconciler_lane_of
#define process_check   reconciler_process_check
#define process_close   reconciler_process_close
#define process_open    reconciler_process_open
#define process_over    reconciler_process_over
#define process_program reconciler_process_program
#define process_turn    reconciler_process_turn
