// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/requests"
)

// wroteDependent tells whether a request has written a dependent: everything that is neither read, nor refused because somebody
// else was faster, nor an event, nor the component itself.
func wroteDependent(r requests.Request) bool {
	switch {
	case r.Method == http.MethodGet, r.Status >= http.StatusBadRequest:
		return false
	case strings.Contains(r.Path, "/events"):
		return false
	default:
		return !strings.HasPrefix(r.Path, "/apis/example.io/")
	}
}

// countedBy returns a copy of the configuration whose clients have their requests recorded.
func countedBy(recorder *requests.Recorder, config *rest.Config) *rest.Config {
	counted := rest.CopyConfig(config)
	counted.Wrap(recorder.Wrap)
	return counted
}
