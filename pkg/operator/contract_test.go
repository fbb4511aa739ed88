// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"flag"

	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/operator"
)

// existing has the methods that existing operators implement.
type existing interface {
	GetName() string
	InitScheme(scheme *runtime.Scheme)
	InitFlags(flagset *flag.FlagSet)
	ValidateFlags() error
	GetUncacheableTypes() []client.Object
	Setup(mgr ctrl.Manager) error
}

// What follows does not compile if a method of Operator changes or is added.
var (
	_ operator.Operator = existing(nil)
	_ existing          = operator.Operator(nil)
)
