// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package flow finds the number of parallel requests that an API server serves best.
//
// A Limiter admits tasks. It learns from the latency of their requests, and from the status 429 (Too Many Requests), by which
// Kubernetes' API Priority and Fairness rejects requests beyond a client's share. A Transport reports these
// rejections, because clients repeat rejected requests without telling their callers.
package flow
