// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sops_test

import (
	"context"
	"embed"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/pkg/manifests/kustomize"
	"github.com/component-operator/runtime/pkg/manifests/kustomize/sops"
	"github.com/component-operator/runtime/pkg/types"
)

// The file secret.yaml therein was written by: sops encrypt --encrypted-regex '^stringData$' --age age1...
//
//go:embed all:testdata/app
var manifestsFS embed.FS

// keySecret stands for what the operator reads at its start, for instance from a mounted Secret. Never publish such a
// key.
var keySecret = corev1.Secret{Data: map[string][]byte{
	"keys.txt": []byte("AGE-SECRET-KEY-1GEETSZA56WLLP0AW5503NUWZ5QUHHXH8DY9FC03E07V9VXM5YPDQ3ZCQE3\n"),
}}

func ExampleNewDecryptor() {
	decryptor, err := sops.NewDecryptor(sops.Options{AgeIdentities: keySecret.Data["keys.txt"]})
	if err != nil {
		fmt.Println(err)
		return
	}
	generator, err := kustomize.New(manifestsFS, "testdata/app", kustomize.Options{Decryptor: decryptor})
	if err != nil {
		fmt.Println(err)
		return
	}
	// The context is usually the one that the reconciler provides.
	objects, err := generator.Generate(context.Background(), "default", "shop", types.UnstructurableMap{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, object := range objects {
		fmt.Println(object.GetName(), object.(*unstructured.Unstructured).Object["stringData"])
	}
	// Output: shop-database map[password:hunter2]
}

// The page about kustomizations shows this.
var _ = func() error {
	keys, err := os.ReadFile("/etc/operator/keys/keys.txt") // for example from a mounted Secret
	if err != nil {
		return err
	}
	decryptor, err := sops.NewDecryptor(sops.Options{AgeIdentities: keys})
	if err != nil {
		return err
	}
	generator, err := kustomize.New(manifestsFS, "app", kustomize.Options{Decryptor: decryptor})
	_ = generator
	return err
}
