// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// StartKubelets starts berth's simulated kubelets on n nodes. When the suite proves itself, a much simpler stand-in
// takes their place.
func StartKubelets(t testing.TB, n int, kubeconfig, dir string) {
	t.Helper()
	if !Reference() {
		Start(t, Command{Name: "kubelets", Dir: dir, Args: []string{Berth(t), "kubelets", "--nodes", fmt.Sprint(n), "--kubeconfig", kubeconfig}})
		return
	}
	config := must(clientcmd.BuildConfigFromFlags("", kubeconfig))(t)
	config.QPS = -1
	ctx, cancel := context.WithCancel(context.Background())
	k := &standIn{client: must(kubernetes.NewForConfig(config))(t)}
	for i := range n {
		node := Node(fmt.Sprintf("stand-in-%d", i))
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.1.0.%d", i+1)}, {Type: corev1.NodeHostName, Address: node.Name}}
		node.Status.NodeInfo = corev1.NodeSystemInfo{KubeletVersion: "v1.36.3", OSImage: "stand-in", KernelVersion: "1", ContainerRuntimeVersion: "none://1"}
		if _, err := k.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		name := node.Name
		k.tasks.Go(func() {
			for range ticks(ctx, 2*time.Second) {
				k.renew(ctx, name)
			}
		})
	}
	k.tasks.Go(func() {
		for range ticks(ctx, 200*time.Millisecond) {
			if list, err := k.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName!="}); err == nil {
				for i := range list.Items {
					k.run(ctx, &list.Items[i])
				}
			}
		}
	})
	t.Cleanup(func() { cancel(); k.tasks.Wait() })
}

type standIn struct {
	client kubernetes.Interface
	tasks  sync.WaitGroup
	next   byte
}

func (k *standIn) renew(ctx context.Context, node string) {
	now, seconds, leases := metav1.NowMicro(), int32(40), k.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	lease, err := leases.Get(ctx, node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &node, LeaseDurationSeconds: &seconds, RenewTime: &now}}
		_, _ = leases.Create(ctx, lease, metav1.CreateOptions{}) // the next renewal tries again
	} else if err == nil {
		lease.Spec.RenewTime = &now
		_, _ = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
}

// run takes one pod a step further: runs it, or ends it when its time to go has come.
func (k *standIn) run(ctx context.Context, pod *corev1.Pod) {
	pods := k.client.CoreV1().Pods(pod.Namespace)
	if pod.DeletionTimestamp != nil {
		if time.Now().After(pod.DeletionTimestamp.Time) {
			none := int64(0)
			_ = pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &none})
		}
		return
	}
	if pod.Status.Phase == corev1.PodRunning {
		return
	}
	now := metav1.Now()
	k.next++
	pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &now
	pod.Status.PodIP = net.IPv4(10, 2, 0, k.next).String()
	pod.Status.HostIP = "10.1.0.1"
	pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
	for _, kind := range []corev1.PodConditionType{corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	started := true
	for _, container := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, Ready: true, Started: &started, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}})
	}
	_, _ = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{}) // the next round tries again
}

// ticks yields at once and then at an interval, until ctx ends.
func ticks(ctx context.Context, interval time.Duration) func(func() bool) {
	return func(yield func() bool) {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for ctx.Err() == nil && yield() {
			select {
			case <-ctx.Done():
			case <-ticker.C:
			}
		}
	}
}
