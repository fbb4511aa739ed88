// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"net/http"

	"k8s.io/client-go/rest"
)

// Instrument wraps the transport of the configuration, so that a Deletion in the context of a request learns from the
// response.
func Instrument(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return deletions{next: next} })
}
