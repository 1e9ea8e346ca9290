-- How two metrics of a GPU move together: Pearson's and Spearman's coefficient of their means over equal steps, and the
-- lag at which Pearson's is strongest. A positive lag says that the second metric follows the first.
with steps as (
  select
    device,
    {{div(time_ms, {{step_ms}})}} as step,
    max(host) as host,
    max(gpu) as gpu,
    max(model) as model,
{{metric_means}}
  from samples
  group by device, {{div(time_ms, {{step_ms}})}}
),
who as (
  select device, max(host) as host, max(gpu) as gpu, max(model) as model
  from steps
  group by device
),
-- One key to join by: an engine that joined by GPU alone and looked at steps later would never end.
keyed as (
  select *, concat(device, ' ', cast(step as string)) as at_step
  from steps
),
shifted as (
  select *, concat(device, ' ', cast(step + lag_step as string)) as at_step
  from steps
  cross join (values {{lag_steps}}) as lags(lag_step)
),
pairs as (
  select device, metric, other_metric, lag_step, x, y
  from (
    select
      a.device,
      metric,
      other_metric,
      lag_step,
      case metric {{metric_cases(a)}} end as x,
      case other_metric {{metric_cases(b)}} end as y
    from shifted a
    join keyed b on b.at_step = a.at_step
    cross join (values {{metric_pairs}}) as pairs(metric, other_metric)
  ) every_pair
  where x is not null and y is not null
),
lagged as (
  select
    device,
    metric,
    other_metric,
    lag_step,
    count(*) as steps,
    case when count(*) >= {{fewest_steps}} and {{varies(x)}} and {{varies(y)}}
      then covar_pop(x, y) / (stddev_pop(x) * stddev_pop(y)) end as pearson
  from pairs
  group by device, metric, other_metric, lag_step
),
placed as (
  select
    *,
    -- Rounded, so that two engines agree which of two equal lags is the best.
    row_number() over (
      partition by device, metric, other_metric
      order by round(abs(pearson), 6) desc nulls last, abs(lag_step), lag_step
    ) as place
  from lagged
),
found as (
  select
    device,
    metric,
    other_metric,
    coalesce(max(case when lag_step = 0 then steps end), 0) as steps,
    max(case when lag_step = 0 then pearson end) as pearson,
    max(case when place = 1 and pearson is not null then lag_step end) as best_lag,
    max(case when place = 1 then pearson end) as best_pearson
  from placed
  group by device, metric, other_metric
),
ranked as (
  select
    device,
    metric,
    other_metric,
    -- Equal values share the mean of their ranks.
    rank() over (partition by device, metric, other_metric order by x)
      + (count(*) over (partition by device, metric, other_metric, x) - 1) / 2e0 as x_rank,
    rank() over (partition by device, metric, other_metric order by y)
      + (count(*) over (partition by device, metric, other_metric, y) - 1) / 2e0 as y_rank
  from (
    select
      device,
      metric,
      other_metric,
      -- To seven digits: means of the same readings added up in another order are equal, and share a rank.
      cast(case metric {{metric_cases(steps)}} end as float) as x,
      cast(case other_metric {{metric_cases(steps)}} end as float) as y
    from steps
    cross join (values {{metric_pairs}}) as pairs(metric, other_metric)
  ) same_step
  where x is not null and y is not null
),
ranks as (
  select
    device,
    metric,
    other_metric,
    case when count(*) >= {{fewest_steps}} and {{varies(x_rank)}} and {{varies(y_rank)}}
      then covar_pop(x_rank, y_rank) / (stddev_pop(x_rank) * stddev_pop(y_rank)) end as spearman
  from ranked
  group by device, metric, other_metric
)
select
  who.host,
  who.gpu,
  substr(who.device, length(who.host) + 2) as uuid,
  who.model,
  case found.metric {{metric_names}} end as metric,
  case found.other_metric {{metric_names}} end as other_metric,
  found.steps,
  found.pearson,
  ranks.spearman,
  found.best_lag * {{step_ms}} / 1000e0 as best_lag_seconds,
  found.best_pearson as best_lag_pearson
from found
join who on who.device = found.device
left join ranks on ranks.device = found.device and ranks.metric = found.metric and ranks.other_metric = found.other_metric
order by who.host, who.gpu, who.device, found.metric, found.other_metric
