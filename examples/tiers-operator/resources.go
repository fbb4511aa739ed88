// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources"
	"github.com/component-operator/runtime/pkg/resources/concepts"
)

// application has what the resources of one application are made from.
type application struct {
	*ApplicationSpec

	namespace, name string
	// migrated is the version of the schema, as soon as the migration has ended.
	migrated *concepts.Data[string]
}

// generate returns the resources of an application, in the order in which they are applied. The web servers wait for
// the data of the migration.
func generate(_ context.Context, input resources.Input) ([]resources.Resource, error) {
	spec, err := resources.SpecOf[*ApplicationSpec](input)
	if err != nil {
		return nil, err
	}
	a := application{ApplicationSpec: spec, namespace: input.Namespace, name: input.Name, migrated: concepts.NewData[string]("migrated schema")}
	var all []resources.Resource
	var problems []error
	for _, build := range []func() (resources.Resource, error){
		a.settings, a.isolation, a.databaseService, a.database, a.migration, a.web, a.budget, a.autoscaler, a.service, a.ingress,
	} {
		resource, err := build()
		all, problems = append(all, resource), append(problems, err)
	}
	return all, errors.Join(problems...)
}

// metadata returns name and labels of an object of a tier.
func (a application) metadata(tier string) metav1.ObjectMeta {
	name := a.name
	if tier != "web" {
		name += "-" + tier
	}
	return metav1.ObjectMeta{Namespace: a.namespace, Name: name, Labels: a.labels(tier)}
}

func (a application) labels(tier string) map[string]string {
	return map[string]string{"app.kubernetes.io/name": "tiers", "app.kubernetes.io/instance": a.name, "app.kubernetes.io/component": tier}
}
