// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package project

// runtimeModule is the module that scaffolded projects build on.
const runtimeModule = "github.com/component-operator/runtime"

// versions are those that the runtime itself is built with: older ones do not work, because the go command never
// selects a version that is older than what the runtime requires. A test compares them with go.mod.
var versions = struct {
	golang, kubernetes, controllerRuntime, logr string
	controllerTools                             string
}{
	golang:            "1.26.0",
	kubernetes:        "v0.37.2",
	controllerRuntime: "v0.25.2",
	logr:              "v1.4.4",
	controllerTools:   "v0.23.0",
}
