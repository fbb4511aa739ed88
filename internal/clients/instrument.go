// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"net/http"

	"k8s.io/client-go/rest"

	"github.com/component-operator/runtime/internal/flow"
)

// Instrument has clients of the configuration report how the server deals with their requests: to a flow.Limiter and to a
// Deletion, if there is one in the context of a request.
func Instrument(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return deletions{next: flow.Transport(next)} })
}
