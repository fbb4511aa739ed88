// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// A definition leads conversion calls to one place, and several processes may test with the same definition. Therefore each of them puts a claim into an annotation:
// the conversion that leads to it. The newest claim counts. When its process ends, another claim counts again, and after the last one what was there before all.
const (
	claimPrefix = "conversion.operatortest/"
	// original is the annotation with what was there before.
	original = claimPrefix + "original"
)

// claimConversion makes a conversion count, under an identifier that sorts after those of older claims. Claims of other processes that do not answer any more are removed.
func claimConversion(
	definition *apiextensionsv1.CustomResourceDefinition, id string, conversion *apiextensionsv1.CustomResourceConversion, answers func(url string) bool,
) error {
	if definition.Annotations == nil {
		definition.Annotations = map[string]string{}
	}
	records := map[string]*apiextensionsv1.CustomResourceConversion{claimPrefix + id: conversion}
	if _, recorded := definition.Annotations[original]; !recorded {
		records[original] = definition.Spec.Conversion
	}
	for key, record := range records {
		content, err := json.Marshal(record)
		if err != nil {
			return fmt.Errorf("recording conversion of %s: %w", definition.Name, err)
		}
		definition.Annotations[key] = string(content)
	}
	definition.Spec.Conversion = conversion
	return dropClaims(definition, func(claim, url string) bool { return claim != id && !answers(url) })
}

// releaseConversion takes the claim with that identifier back.
func releaseConversion(definition *apiextensionsv1.CustomResourceDefinition, id string, answers func(url string) bool) error {
	return dropClaims(definition, func(claim, url string) bool { return claim == id || !answers(url) })
}

// hasClaims reports whether there are claims, or traces of them.
func hasClaims(annotations map[string]string) bool {
	_, recorded := annotations[original]
	return recorded
}

// dropClaims removes claims, and makes the newest of the others count if the one that did is gone.
func dropClaims(definition *apiextensionsv1.CustomResourceDefinition, drop func(id, url string) bool) error {
	if !hasClaims(definition.Annotations) {
		return nil
	}
	var newest *apiextensionsv1.CustomResourceConversion
	counts := false
	for _, key := range slices.Sorted(maps.Keys(definition.Annotations)) {
		id, isClaim := strings.CutPrefix(key, claimPrefix)
		if !isClaim || key == original {
			continue
		}
		claim, err := readConversion(definition, key)
		if err != nil {
			return err
		}
		if drop(id, urlOf(claim)) {
			delete(definition.Annotations, key)
			continue
		}
		newest = claim
		counts = counts || urlOf(claim) == urlOf(definition.Spec.Conversion)
	}
	switch {
	case counts:
		return nil
	case newest != nil:
		definition.Spec.Conversion = newest
		return nil
	}
	before, err := readConversion(definition, original)
	if err != nil {
		return err
	}
	definition.Spec.Conversion = before
	delete(definition.Annotations, original)
	return nil
}

func readConversion(definition *apiextensionsv1.CustomResourceDefinition, key string) (*apiextensionsv1.CustomResourceConversion, error) {
	conversion := &apiextensionsv1.CustomResourceConversion{}
	if err := json.Unmarshal([]byte(definition.Annotations[key]), conversion); err != nil {
		return nil, fmt.Errorf("reading annotation %s of %s: %w", key, definition.Name, err)
	}
	return conversion, nil
}

// urlOf returns where a conversion leads to; empty if not to a URL.
func urlOf(conversion *apiextensionsv1.CustomResourceConversion) string {
	if conversion == nil || conversion.Webhook == nil || conversion.Webhook.ClientConfig == nil || conversion.Webhook.ClientConfig.URL == nil {
		return ""
	}
	return *conversion.Webhook.ClientConfig.URL
}
