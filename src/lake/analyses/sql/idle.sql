-- What GPUs do while they do nothing: hours and energy of idling, and of idling while a program holds their memory.
with readings as (
  select
    *,
    lead(time_ms) over (partition by device order by time_ms) - time_ms as step_ms,
    lead(gpu_power_watts) over (partition by device order by time_ms) as next_power_watts,
    case when gpu_utilization_ratio < {{idle_below}} then 1 else 0 end as idle
  from samples
  where gpu_utilization_ratio is not null
),
stretches as (
  select
    *,
    case when step_ms <= {{gap_ms}} then step_ms / 3600000e0 end as hours,
    case when step_ms <= {{gap_ms}} then step_ms / 3600000e0 * (gpu_power_watts + next_power_watts) / 2e0 end as watt_hours,
    case when idle = 1 and gpu_memory_used_bytes >= {{held_bytes}} then 1 else 0 end as held,
    -- A new run of idling begins where it was not idle before, or nothing was known.
    case when idle = 1 and lag(idle) over (partition by device order by time_ms) = 1
      and time_ms - lag(time_ms) over (partition by device order by time_ms) <= {{gap_ms}} then 0 else 1 end as begins
  from readings
),
runs as (
  select
    *,
    sum(begins) over (partition by device order by time_ms rows between unbounded preceding and current row) as run
  from stretches
),
run_hours as (
  select device, run, sum(hours) as hours
  from runs
  where idle = 1
  group by device, run
),
longest as (
  select device, max(hours) as longest_idle_hours
  from run_hours
  group by device
),
totals as (
  select
    device,
    max(host) as host,
    max(gpu) as gpu,
    max(model) as model,
    count(*) as samples,
    coalesce(sum(hours), 0e0) as covered_hours,
    coalesce(sum(case when idle = 1 then hours end), 0e0) as idle_hours,
    sum(watt_hours) / 1000e0 as energy_kwh,
    sum(case when watt_hours is null then null when idle = 1 then watt_hours else 0e0 end) / 1000e0 as idle_kwh,
    sum(case when idle = 1 then watt_hours end) / nullif(sum(case when idle = 1 and watt_hours is not null then hours end), 0e0) as idle_power_mean_watts,
    sum(case when gpu_memory_used_bytes is null or hours is null then null when held = 1 then hours else 0e0 end) as held_idle_hours,
    sum(case when gpu_memory_used_bytes is null or watt_hours is null then null when held = 1 then watt_hours else 0e0 end) / 1000e0 as held_idle_kwh
  from runs
  group by device
)
select
  totals.host,
  totals.gpu,
  substr(totals.device, length(totals.host) + 2) as uuid,
  totals.model,
  totals.samples,
  totals.covered_hours,
  totals.idle_hours,
  totals.idle_hours / nullif(totals.covered_hours, 0e0) as idle_share,
  longest.longest_idle_hours,
  totals.energy_kwh,
  totals.idle_kwh,
  totals.idle_power_mean_watts,
  totals.held_idle_hours,
  totals.held_idle_kwh,
  totals.idle_kwh * {{price_per_kwh}} as idle_cost,
  totals.idle_kwh * {{co2_grams_per_kwh}} as idle_co2_grams
from totals
left join longest on longest.device = totals.device
order by totals.host, totals.gpu, totals.device
