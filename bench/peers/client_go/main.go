// client_go KUBECONFIG NAMESPACE OBJECTS EVENTS gzip|plain|protobuf: what bench/kube_cache.cc does, with client-go.
// gzip is client-go as it comes: JSON, lists compressed where the server does that; plain is JSON without
// compression, the bytes that kube_cache gets; protobuf is without compression too.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"sort"
	"strconv"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	must(err)
	return value
}

func cpuSeconds() float64 {
	var used syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}

func kib(file, key string) int {
	text, err := os.ReadFile(file)
	must(err)
	return number(regexp.MustCompile(key + `:\s+(\d+)`).FindStringSubmatch(string(text))[1])
}

func rssKiB() int { return kib("/proc/self/status", "VmRSS") }
func pssKiB() int { return kib("/proc/self/smaps_rollup", "Pss") }

func say(fields map[string]any) {
	line, err := json.Marshal(fields)
	must(err)
	fmt.Println(string(line))
}

func part(sorted []float64, share float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(share*float64(len(sorted)-1))]
}

func main() {
	objects, events := number(os.Args[3]), number(os.Args[4])
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	must(err)
	config.QPS = -1
	config.DisableCompression = os.Args[5] != "gzip"
	if os.Args[5] == "protobuf" {
		config.ContentType = "application/vnd.kubernetes.protobuf"
	}
	client, err := kubernetes.NewForConfig(config)
	must(err)
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(os.Args[2]),
		informers.WithTransform(func(object any) (any, error) {
			if held, err := meta.Accessor(object); err == nil {
				held.SetManagedFields(nil)
			}
			return object, nil
		}))
	informer := factory.Core().V1().Pods().Informer()
	added, updated := 0, 0
	listed, ended := make(chan struct{}), make(chan struct{})
	var delays []float64
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) {
			if added++; added == objects {
				close(listed)
			}
		},
		UpdateFunc: func(_, object any) {
			now := time.Now()
			if text := object.(*corev1.Pod).Annotations["bench/written"]; text != "" {
				delays = append(delays, float64(now.UnixNano()-int64(number(text)))/1e3)
			}
			if updated++; updated == events {
				close(ended)
			}
		}})
	must(err)

	rss, pss := rssKiB(), pssKiB()
	begun, cpu := time.Now(), cpuSeconds()
	factory.Start(make(chan struct{}))
	<-listed
	seconds, spent := time.Since(begun).Seconds(), cpuSeconds()-cpu
	time.Sleep(time.Second)
	say(map[string]any{"objects": len(informer.GetStore().ListKeys()), "seconds": seconds, "cpu_s": spent,
		"rss_kib": rssKiB() - rss, "pss_kib": pssKiB() - pss})
	if events == 0 {
		return
	}
	cpu = cpuSeconds()
	<-ended
	endedAt := float64(time.Now().UnixNano()) / 1e9
	spent = cpuSeconds() - cpu
	debug.FreeOSMemory()
	sort.Float64s(delays)
	say(map[string]any{"events": updated, "ended_at": endedAt, "cpu_s": spent, "live_kib": rssKiB() - rss,
		"p50_us": part(delays, 0.5), "p99_us": part(delays, 0.99)})
}
