// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sandbox_test

import (
	"context"
	"fmt"
	"os"

	"k8s.io/client-go/discovery"

	"github.com/component-operator/runtime/pkg/sandbox"
)

func ExampleStart() {
	ctx := context.Background()
	cluster, err := sandbox.Start(ctx, sandbox.Options{Nodes: 3, Log: os.Stderr})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = cluster.Stop(ctx) }()

	client, err := discovery.NewDiscoveryClientForConfig(cluster.Config())
	if err != nil {
		fmt.Println(err)
		return
	}
	version, err := client.ServerVersion()
	fmt.Println(version, err)
	// Output: v1.36.3 <nil>
}
