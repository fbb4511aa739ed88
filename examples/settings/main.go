// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Command settings keeps two ConfigMaps in a cluster, without any operator or custom resource: it creates them,
// corrects their drift, and deletes them when it is interrupted.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/reconciler"
)

func main() {
	if err := run(ctrl.SetupSignalHandler(), ctrl.GetConfigOrDie(), "default", "settings.json", os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "settings:", err)
		os.Exit(1)
	}
}

// run keeps the objects until the context ends, and then deletes them.
func run(ctx context.Context, config *rest.Config, namespace string, record file, out io.Writer) error {
	clnt, err := reconciler.Connect(config)
	if err != nil {
		return err
	}
	engine, err := reconciler.New("settings.example.io", clnt, reconciler.Options{})
	if err != nil {
		return err
	}
	defer engine.Close()
	changed := make(chan struct{}, 1)
	engine.Subscribe("settings", func() {
		select {
		case changed <- struct{}{}:
		default: // a call is pending already
		}
	})
	owner := reconciler.Owner{ID: "settings", Namespace: namespace, Store: record}
	if owner.Inventory, err = record.load(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		result, err := engine.Apply(ctx, reconciler.ApplyRequest{Owner: owner, Objects: settings()})
		owner.Inventory = result.Inventory
		if err = errors.Join(err, record.Save(ctx, result.Inventory)); err != nil && ctx.Err() == nil {
			return err
		}
		report(out, result)
		await(ctx, changed, result.RequeueAfter)
	}
	for ctx, done := context.WithoutCancel(ctx), false; !done; {
		result, err := engine.Delete(ctx, reconciler.DeleteRequest{Owner: owner})
		owner.Inventory = result.Inventory
		if err = errors.Join(err, record.Save(ctx, result.Inventory)); err != nil {
			return err
		}
		report(out, result)
		if done = result.Done; !done {
			await(ctx, changed, result.RequeueAfter)
		}
	}
	return nil
}

// await returns when something has changed, or at the latest when the engine must be called again.
func await(ctx context.Context, changed <-chan struct{}, atMost time.Duration) {
	var over <-chan time.Time
	if atMost > 0 {
		over = time.After(atMost)
	}
	select {
	case <-changed:
	case <-over:
	case <-ctx.Done():
	}
}

func report(out io.Writer, result reconciler.Result) {
	for _, action := range result.Actions {
		for _, object := range action.Objects {
			fmt.Fprintln(out, action.Verb, object.GetName())
		}
	}
	for _, wait := range result.Waits {
		fmt.Fprintln(out, "waiting for", wait.Object.GetName()+":", wait.Message)
	}
}

func settings() []client.Object {
	return []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "colours"}, Data: map[string]string{"sky": "blue"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "sizes"}, Data: map[string]string{"house": "large"}},
	}
}

// file stores the inventory, so that the next process knows the objects.
type file string

// Save makes the file a reconciler.Store. If the process dies meanwhile, the former inventory remains.
func (f file) Save(_ context.Context, inventory []*reconciler.InventoryItem) error {
	raw, err := json.Marshal(inventory)
	if err != nil {
		return err
	}
	next := string(f) + ".next"
	if err := os.WriteFile(next, raw, 0o600); err != nil {
		return err
	}
	return os.Rename(next, string(f))
}

func (f file) load() (inventory []*reconciler.InventoryItem, err error) {
	raw, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &inventory)
	}
	return inventory, err
}
