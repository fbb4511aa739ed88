// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package server looks at dependents: in what the observer knows if that suffices, otherwise by requests. It counts requests, and lets as many of them be
// under way as the API server serves well. What changes something goes by Server.Mutate; package executor has those requests.
package server
