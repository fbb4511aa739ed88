// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// TestSettings checks that the program creates, corrects and deletes its objects.
func TestSettings(t *testing.T) {
	t.Parallel()
	clnt, namespace := testenv.Client(t), testenv.Namespace(t)
	ctx, interrupt := context.WithCancel(t.Context())
	t.Cleanup(interrupt)
	ended := make(chan error, 1)
	record := file(filepath.Join(t.TempDir(), "settings.json"))
	go func() { ended <- run(ctx, testenv.Config(t), namespace, record, io.Discard) }()

	await := func(want string) *corev1.ConfigMap {
		t.Helper()
		found := &corev1.ConfigMap{}
		testenv.Eventually(t, func() (bool, string) {
			err := clnt.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "colours"}, found)
			return err == nil && found.Data["sky"] == want, fmt.Sprint(found.Data, err)
		})
		return found
	}
	found := await("blue")
	found.Data["sky"] = "green"
	if err := clnt.Update(t.Context(), found); err != nil {
		t.Fatal(err)
	}
	if err := clnt.Delete(t.Context(), await("blue")); err != nil {
		t.Fatal(err)
	}
	await("blue")
	interrupt()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, name := range []string{"colours", "sizes"} {
		if err := clnt.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, found); !apierrors.IsNotFound(err) {
			t.Errorf("want %s to be gone: %v", name, err)
		}
	}
}

// TestRecordIsReplacedAsAWhole kills the process while it saves: the former inventory must remain.
func TestRecordIsReplacedAsAWhole(t *testing.T) {
	t.Parallel()
	record := file(filepath.Join(t.TempDir(), "settings.json"))
	save := func(name string) {
		t.Helper()
		if err := record.Save(t.Context(), []*reconciler.InventoryItem{{NameInfo: reconciler.NameInfo{Name: name}}}); err != nil {
			t.Fatal(err)
		}
	}
	save("former")
	// A reader that has opened the file sees what would be left.
	opened, err := os.Open(string(record))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = opened.Close() }()
	save("next")
	if former, err := io.ReadAll(opened); err != nil || !strings.Contains(string(former), "former") {
		t.Errorf("the record was overwritten in place: %s, %v", former, err)
	}
	if inventory, err := record.load(); err != nil || len(inventory) != 1 || inventory[0].Name != "next" {
		t.Errorf("got %v, %v", inventory, err)
	}
}
