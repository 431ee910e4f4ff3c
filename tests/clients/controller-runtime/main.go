// SPDX-License-Identifier: Apache-2.0

// controller-runtime: a controller that makes a ConfigMap for each Widget, repairs it, and leaves its removal to the garbage
// collector (Owns).
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

var widgets = schema.GroupVersionKind{Group: "clients.example.com", Version: "v1", Kind: "Widget"}

func check(what string, err error) {
	if err != nil {
		fmt.Printf("controller-runtime: %s: %v\n", what, err)
		os.Exit(1)
	}
}

func until(ctx context.Context, what string, done func() (bool, error)) {
	check(what, wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 30*time.Second, true,
		func(context.Context) (bool, error) { return done() }))
}

func widget() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(widgets)
	return object
}

func definition() *unstructured.Unstructured {
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "widgets.clients.example.com"},
		"spec": map[string]any{
			"group": widgets.Group, "scope": "Namespaced",
			"names": map[string]any{"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object",
					"properties": map[string]any{"spec": open, "status": open}}},
			}},
		},
	}}
}

type reconciler struct{ client.Client }

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := widget()
	if err := r.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	size, _, _ := unstructured.NestedString(object.Object, "spec", "size")
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: request.Name, Namespace: request.Namespace}}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, settings, func() error {
		settings.Data = map[string]string{"size": size}
		return controllerutil.SetControllerReference(object, settings, r.Scheme())
	}); err != nil {
		return ctrl.Result{}, err
	}
	if ready, _, _ := unstructured.NestedString(object.Object, "status", "size"); ready == size {
		return ctrl.Result{}, nil
	}
	if err := unstructured.SetNestedField(object.Object, size, "status", "size"); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.Status().Update(ctx, object)
}

// The size that the Widget's ConfigMap has; empty: there is none.
func sizeOf(ctx context.Context, reader client.Reader) (string, error) {
	settings := &corev1.ConfigMap{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: "default", Name: "w"}, settings)
	return settings.Data["size"], client.IgnoreNotFound(err)
}

func main() {
	log.SetLogger(zap.New())
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	check("the kubeconfig", err)
	ctx, end := context.WithTimeout(context.Background(), 2*time.Minute)
	defer end()
	direct, err := client.New(config, client.Options{})
	check("the client", err)
	check("creating the definition", direct.Create(ctx, definition()))
	until(ctx, "the definition is served", func() (bool, error) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(widgets.GroupVersion().WithKind("WidgetList"))
		return direct.List(ctx, list) == nil, nil
	})

	manager, err := ctrl.NewManager(config, ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		LeaderElection: true, LeaderElectionID: "widgets", LeaderElectionNamespace: "default",
	})
	check("the manager", err)
	check("the controller", ctrl.NewControllerManagedBy(manager).For(widget()).Owns(&corev1.ConfigMap{}).
		Complete(&reconciler{manager.GetClient()}))
	go func() { check("the manager", manager.Start(ctx)) }()

	object := widget()
	object.SetName("w")
	object.SetNamespace("default")
	check("the size", unstructured.SetNestedField(object.Object, "small", "spec", "size"))
	check("creating a Widget", direct.Create(ctx, object))
	has := func(want string) func() (bool, error) {
		return func() (bool, error) {
			size, err := sizeOf(ctx, direct)
			return size == want, err
		}
	}
	until(ctx, "the Widget gets its ConfigMap", has("small"))
	until(ctx, "the Widget gets its status", func() (bool, error) {
		err := direct.Get(ctx, client.ObjectKeyFromObject(object), object)
		size, _, _ := unstructured.NestedString(object.Object, "status", "size")
		return size == "small", err
	})
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"size":"wrong"}}`))
	check("patching the ConfigMap", direct.Patch(ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "w", Namespace: "default"}}, patch))
	until(ctx, "the ConfigMap is repaired", has("small"))
	check("deleting the Widget", direct.Delete(ctx, object))
	until(ctx, "the Widget goes", func() (bool, error) {
		return apierrors.IsNotFound(direct.Get(ctx, client.ObjectKeyFromObject(object), object)), nil
	})
	until(ctx, "the ConfigMap goes with its Widget", has(""))
}
