/**
 * The routing used without an alertmanager.yml: grouping and inhibition as in deploy/alertmanager, and no notifications. A test
 * checks that both have the same inhibition rules.
 */
export const defaultRouting = `
route:
  receiver: nobody
  group_by: [alertname, host]
  group_wait: 30s
  group_interval: 5m
  repeat_interval: 12h
receivers:
  - name: nobody
inhibit_rules:
  - source_matchers: ['alertname = GpulseExporterDown']
    target_matchers: ['alertname =~ "Gpu.*|Cpu.*"', 'alertname != GpulseExporterDown']
    equal: [job, instance]
  - source_matchers: ['alertname = GpulseSourceFailing']
    target_matchers: ['alertname =~ "GpuDataStale|GpuMissing"']
    equal: [job, instance]
  - source_matchers: ['alertname =~ "GpuLost|GpuMissing"']
    target_matchers: ['uuid != ""', 'alertname !~ "GpuLost|GpuMissing"']
    equal: [host, uuid]
  - source_matchers: ['severity = critical', 'uuid != ""']
    target_matchers: ['severity = warning', 'uuid != ""']
    equal: [host, uuid]
`;
