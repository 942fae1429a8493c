#!/usr/bin/env python3
"""Makes h200.csv from what a GPU gave:

    python3 measure.py time > times.json
    ncu --clock-control none --csv --page raw --metrics "$(python3 record.py metrics)" python3 measure.py launch > ncu.csv
    python3 record.py times.json ncu.csv > h200.csv
"""
import csv
import json
import sys

METRICS = {
    "warp_instructions": "smsp__inst_executed.sum",
    "load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "atomic_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    "atomic_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    "shared_loads": "smsp__sass_inst_executed_op_shared_ld.sum",
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_stores": "smsp__sass_inst_executed_op_shared_st.sum",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "divergent_branches": "smsp__sass_branch_targets_threads_divergent.sum",
    "fp32": "smsp__sass_thread_inst_executed_op_fp32_pred_on.sum",
    "fp64": "smsp__sass_thread_inst_executed_op_fp64_pred_on.sum",
    "integer": "smsp__sass_thread_inst_executed_op_integer_pred_on.sum",
    "memory": "smsp__sass_thread_inst_executed_op_memory_pred_on.sum",
    "control": "smsp__sass_thread_inst_executed_op_control_pred_on.sum",
    "conversion": "smsp__sass_thread_inst_executed_op_conversion_pred_on.sum",
}
if sys.argv[1] == "metrics":
    print(",".join(METRICS.values()))
    sys.exit()
times = json.load(open(sys.argv[1]))
head, _, *rows = csv.reader(line for line in open(sys.argv[2]) if not line.startswith("=="))
out = csv.writer(sys.stdout, lineterminator="\n")
out.writerow(["case", "us", *METRICS])
for (name, us), row in zip(times.items(), rows, strict=True):
    values = [row[head.index(metric)].replace(",", "") for metric in METRICS.values()]
    out.writerow([name, us, *values])
