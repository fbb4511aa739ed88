// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"testing"

	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/requests"
)

// Request is what was asked of the API server.
type Request = requests.Request

// Requests records requests. Its methods may be called from several goroutines.
type Requests = requests.Recorder

// CountingConfig returns a configuration like [Config] and the record of all requests of all clients that are made from
// it.
func CountingConfig(tb testing.TB) (*rest.Config, *Requests) {
	tb.Helper()
	config, recorder := Config(tb), &Requests{}
	config.Wrap(recorder.Wrap)
	return config, recorder
}
