// A container runtime without containers, for a real kubelet: every sandbox and container "runs" until it is stopped, and a
// container whose name begins with "ends" ends at once. It is the runtime of Kubernetes' own tests, served at a socket.
package main

import (
	"log"
	"os"
	"strings"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-client/pkg/fake"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: container-runtime unix:///path/to/socket")
	}
	runtime := fake.NewFakeRemoteRuntime()
	// Without a file system of images the kubelet logs an error every ten seconds.
	images := []*cri.FilesystemUsage{{
		FsId:       &cri.FilesystemIdentifier{Mountpoint: "/"},
		UsedBytes:  &cri.UInt64Value{},
		InodesUsed: &cri.UInt64Value{},
	}}
	runtime.ImageService.SetFakeFilesystemUsage(images)
	runtime.ImageService.SetFakeContainerFilesystemUsage(images)
	if err := runtime.Start(os.Args[1]); err != nil {
		log.Fatal(err)
	}
	for range time.Tick(100 * time.Millisecond) {
		endContainers(runtime)
	}
}

func endContainers(runtime *fake.RemoteRuntime) {
	service := runtime.RuntimeService
	service.Lock()
	defer service.Unlock()
	for _, container := range service.Containers {
		isRunning := container.State == cri.ContainerState_CONTAINER_RUNNING
		if isRunning && strings.HasPrefix(container.Metadata.Name, "ends") {
			container.State = cri.ContainerState_CONTAINER_EXITED
			container.FinishedAt = time.Now().UnixNano()
		}
	}
}
