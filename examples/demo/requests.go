// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/requests"
)

// wroteDependent reports whether a request has written a dependent. Reads, failed requests, events and writes of the
// component itself do not count.
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
