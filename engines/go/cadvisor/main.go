// cAdvisor's own library behind a small door: its manager over plain cgroups, its Prometheus collectors, one address.
// No container engine is looked for, so that it shows what runs without one: each cgroup is a container.
package main

import (
	"flag"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/google/cadvisor/cache/memory"
	"github.com/google/cadvisor/container"
	// What it may count on: without these no filesystem is told of.
	_ "github.com/google/cadvisor/fs/overlay/install"
	_ "github.com/google/cadvisor/fs/tmpfs/install"
	_ "github.com/google/cadvisor/fs/vfs/install"
	v2 "github.com/google/cadvisor/info/v2"
	"github.com/google/cadvisor/manager"
	"github.com/google/cadvisor/metrics"
	"github.com/google/cadvisor/utils/sysfs"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/utils/clock"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "address to answer on")
	prefixes := flag.String("cgroups", "", "only cgroups that begin so, separated by commas; all where empty")
	interval := flag.Duration("interval", 5*time.Second, "how often each cgroup is read")
	flag.Parse()

	shown := container.MetricSet{
		container.CpuUsageMetrics:     {},
		container.CpuLoadMetrics:      {},
		container.MemoryUsageMetrics:  {},
		container.DiskIOMetrics:       {},
		container.DiskUsageMetrics:    {},
		container.NetworkUsageMetrics: {},
		container.ProcessMetrics:      {},
		container.OOMMetrics:          {},
	}
	steady := false
	housekeeping := manager.HousekeepingConfig{Interval: interval, AllowDynamic: &steady}
	watched, err := manager.New(memory.New(2*time.Minute, nil), sysfs.NewRealSysFs(), housekeeping, shown,
		http.DefaultClient, strings.Split(*prefixes, ","), nil, "", 0)
	if err != nil {
		log.Fatalf("cgroups cannot be watched: %v", err)
	}
	if err := watched.Start(); err != nil {
		log.Fatalf("cgroups cannot be watched: %v", err)
	}

	registry := prometheus.NewRegistry()
	registry.MustRegister(
		metrics.NewPrometheusCollector(watched, nil, shown, clock.RealClock{},
			v2.RequestOptions{IdType: v2.TypeName, Count: 1, Recursive: true}),
		metrics.NewPrometheusMachineCollector(watched, shown),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	http.HandleFunc("/healthz", func(answer http.ResponseWriter, _ *http.Request) {
		_, _ = answer.Write([]byte("ok"))
	})

	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-ended
		_ = watched.Stop()
		os.Exit(0)
	}()
	log.Fatal(http.ListenAndServe(*listen, nil))
}
