// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"net/http"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/cluster"
)

// clientOfOperators has the methods that existing operators call and implement.
type clientOfOperators interface {
	client.Client
	DiscoveryClient() discovery.DiscoveryInterface
	EventRecorder() record.EventRecorder
	Config() *rest.Config
	HttpClient() *http.Client
}

// What follows does not compile if a method of Client changes or is added: existing operators call and implement it.
var (
	_ cluster.Client    = clientOfOperators(nil)
	_ clientOfOperators = cluster.Client(nil)
)
