// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Command hello-operator is the smallest useful operator: it turns each Greeting into a ConfigMap. Its program is
// quoted in the README.
//
// +groupName=hello.example.io
// +versionName=v1
// +kubebuilder:object:generate=true
package main
