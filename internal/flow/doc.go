// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package flow finds out how many requests an API server serves best side by side.
//
// A Limiter admits tasks. It learns from the latency of their requests, and from the answer 429 (Too Many Requests), by which
// the API Priority and Fairness of Kubernetes rejects what exceeds the share of a client. A Transport reports the
// latter, because clients repeat rejected requests by themselves and tell nobody.
package flow
