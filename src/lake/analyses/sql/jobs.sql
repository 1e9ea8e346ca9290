-- What jobs used by {{group}}: hours of the jobs table, summed up.
select
  {{group_value}} as {{group}},
  count(distinct job) as jobs,
  sum(gpu_seconds) / 3600e0 as gpu_hours,
  sum(useful_seconds) / 3600e0 as useful_hours,
  sum(held_idle_seconds) / 3600e0 as held_idle_hours,
  sum(useful_seconds) / nullif(sum(useful_seconds) + sum(held_idle_seconds), 0e0) as useful_share,
  sum(joules) / 3600000e0 as energy_kwh,
  sum(joules) / 3600000e0 * {{price_per_kwh}} as cost,
  sum(joules) / 3600000e0 * {{co2_grams_per_kwh}} as co2_grams
from samples
group by {{group_value}}
order by {{group_value}}
