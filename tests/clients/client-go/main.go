// SPDX-License-Identifier: Apache-2.0

// client-go: an informer, a watch, apply, metrics, deletion in the foreground, and the election of a leader.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const namespace = "default"

func check(what string, err error) {
	if err != nil {
		fmt.Printf("client-go: %s: %v\n", what, err)
		os.Exit(1)
	}
}

func until(ctx context.Context, what string, done func() (bool, error)) {
	check(what, wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 60*time.Second, true,
		func(context.Context) (bool, error) { return done() }))
}

func deployment() *appsv1.Deployment {
	replicas := int32(3)
	label := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: label},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: label},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
			},
		},
	}
}

// Pods as an informer tells of them, until all run; then as they go with their owner.
func follow(ctx context.Context, client kubernetes.Interface) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	pods := factory.Core().V1().Pods().Lister().Pods(namespace)
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			check("the informer", fmt.Errorf("%v did not sync", kind))
		}
	}
	_, err := client.AppsV1().Deployments(namespace).Create(ctx, deployment(), metav1.CreateOptions{})
	check("creating a Deployment", err)
	selector := labels.SelectorFromSet(labels.Set{"app": "web"})
	until(ctx, "the Deployment's pods run, by the informer", func() (bool, error) {
		all, err := pods.List(selector)
		running := 0
		for _, pod := range all {
			if pod.Status.Phase == corev1.PodRunning && pod.Spec.NodeName != "" {
				running++
			}
		}
		return running == 3, err
	})
	metrics(ctx, client)
	foreground := metav1.DeletePropagationForeground
	check("deleting the Deployment", client.AppsV1().Deployments(namespace).Delete(ctx, "web",
		metav1.DeleteOptions{PropagationPolicy: &foreground}))
	until(ctx, "the pods go with the Deployment, by the informer", func() (bool, error) {
		all, err := pods.List(selector)
		return len(all) == 0, err
	})
	until(ctx, "the Deployment goes", func() (bool, error) {
		_, err := client.AppsV1().Deployments(namespace).Get(ctx, "web", metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	})
}

// What metrics.k8s.io says of the pods that run.
func metrics(ctx context.Context, client kubernetes.Interface) {
	until(ctx, "metrics of pods and nodes", func() (bool, error) {
		raw, err := client.CoreV1().RESTClient().Get().AbsPath("/apis/metrics.k8s.io/v1beta1/namespaces/default/pods").DoRaw(ctx)
		if err != nil {
			return false, err
		}
		nodes, err := client.CoreV1().RESTClient().Get().AbsPath("/apis/metrics.k8s.io/v1beta1/nodes").DoRaw(ctx)
		return strings.Count(string(raw), `"containers"`) == 3 && strings.Count(string(nodes), `"usage"`) == 3, err
	})
}

func watch(ctx context.Context, client kubernetes.Interface) {
	maps := client.CoreV1().ConfigMaps(namespace)
	began, err := maps.List(ctx, metav1.ListOptions{})
	check("listing ConfigMaps", err)
	events, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: began.ResourceVersion})
	check("watching ConfigMaps", err)
	defer events.Stop()
	made, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}}, metav1.CreateOptions{})
	check("creating a ConfigMap", err)
	made.Data = map[string]string{"k": "v"}
	_, err = maps.Update(ctx, made, metav1.UpdateOptions{})
	check("updating a ConfigMap", err)
	_, err = maps.Update(ctx, made, metav1.UpdateOptions{})
	if !apierrors.IsConflict(err) {
		check("an update of an old version", fmt.Errorf("should be a conflict: %v", err))
	}
	_, err = maps.Apply(ctx, applycorev1.ConfigMap("m", namespace).WithLabels(map[string]string{"l": "1"}),
		metav1.ApplyOptions{FieldManager: "berth-clients"})
	check("applying a ConfigMap", err)
	check("deleting a ConfigMap", maps.Delete(ctx, "m", metav1.DeleteOptions{}))
	for _, want := range []string{"ADDED", "MODIFIED", "MODIFIED", "DELETED"} {
		select {
		case event := <-events.ResultChan():
			if string(event.Type) != want {
				check("watching ConfigMaps", fmt.Errorf("%s came in place of %s", event.Type, want))
			}
		case <-time.After(20 * time.Second):
			check("watching ConfigMaps", fmt.Errorf("%s did not come", want))
		}
	}
}

// Leads until `ctx` ends, and then gives the lease away.
func elect(ctx context.Context, client kubernetes.Interface, identity string, leading chan<- string) {
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Name: "clients", Namespace: namespace},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		ReleaseOnCancel: true,
		LeaseDuration:   6 * time.Second,
		RenewDeadline:   4 * time.Second,
		RetryPeriod:     500 * time.Millisecond,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { leading <- identity },
			OnStoppedLeading: func() {},
		},
	})
}

func leaders(ctx context.Context, client kubernetes.Interface) {
	leading := make(chan string, 2)
	await := func(want string) {
		select {
		case got := <-leading:
			if got != want {
				check("the election", fmt.Errorf("%s leads in place of %s", got, want))
			}
		case <-time.After(30 * time.Second):
			check("the election", fmt.Errorf("%s did not become the leader", want))
		}
	}
	first, end := context.WithCancel(ctx)
	go elect(first, client, "first", leading)
	await("first")
	go elect(ctx, client, "second", leading)
	time.Sleep(time.Second)
	if len(leading) != 0 {
		check("the election", fmt.Errorf("there are two leaders"))
	}
	end()
	await("second")
}

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	check("the kubeconfig", err)
	client, err := kubernetes.NewForConfig(config)
	check("the client", err)
	ctx, end := context.WithTimeout(context.Background(), 2*time.Minute)
	defer end()
	version, err := client.Discovery().ServerVersion()
	check("the version", err)
	if want := os.Getenv("BERTH_KUBERNETES"); version.Major+"."+version.Minor != want {
		check("the version", fmt.Errorf("is %s, and should be of %s", version, want))
	}
	watch(ctx, client)
	follow(ctx, client)
	leaders(ctx, client)
}
