// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"crypto/sha1" // vSphere's tools show SHA-1 thumbprints
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"net/url"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// ValidateVCenter checks a new VCenter. Its name is part of the name of a Lease.
func ValidateVCenter(obj *vmv1alpha1.VCenter) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&obj.ObjectMeta, false, validateLabelName, field.NewPath("metadata"))
	return append(errs, validateVCenterSpec(&obj.Spec, field.NewPath("spec"))...)
}

// ValidateVCenterUpdate checks the change from old to obj. An unchanged spec is not validated, because it can be older
// than a rule.
func ValidateVCenterUpdate(obj, old *vmv1alpha1.VCenter) field.ErrorList {
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	if apiequality.Semantic.DeepEqual(obj.Spec, old.Spec) {
		return errs
	}
	return append(errs, validateVCenterSpec(&obj.Spec, field.NewPath("spec"))...)
}

// ValidateVCenterStatusUpdate checks a change of status.
func ValidateVCenterStatusUpdate(obj, old *vmv1alpha1.VCenter) field.ErrorList {
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	return append(errs, validateConditions(obj.Status.Conditions, field.NewPath("status", "conditions"))...)
}

func validateVCenterSpec(spec *vmv1alpha1.VCenterSpec, path *field.Path) field.ErrorList {
	errs := validateSDK(spec.URL, path.Child("url"))
	if len(spec.CABundle) > 0 {
		errs = append(errs, validateCertificates(spec.CABundle, path.Child("caBundle"))...)
		if spec.Thumbprint != "" {
			errs = append(errs, field.Forbidden(path.Child("thumbprint"), "may not be set together with caBundle"))
		}
	}
	if spec.Thumbprint != "" {
		errs = append(errs, validateThumbprint(spec.Thumbprint, path.Child("thumbprint"))...)
	}
	return append(errs, validateRequiredName(spec.CredentialsSecretRef.Name, path.Child("credentialsSecretRef", "name"))...)
}

// validateSDK checks the URL of the SDK. Errors do not contain a URL that can contain a password.
func validateSDK(text string, path *field.Path) field.ErrorList {
	if text == "" {
		return field.ErrorList{field.Required(path, "must have the form https://host[:port]/sdk")}
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, "must have the form https://host[:port]/sdk")}
	case u.User != nil:
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, "must not contain credentials: store them in the Secret of credentialsSecretRef")}
	case u.Scheme != "https" || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "":
		return field.ErrorList{field.Invalid(path, text, "must have the form https://host[:port]/sdk")}
	}
	return nil
}

// validateCertificates checks that bundle contains only valid certificates.
func validateCertificates(bundle []byte, path *field.Path) field.ErrorList {
	invalid := field.ErrorList{field.Invalid(path, field.OmitValueType{}, "must contain only certificates in PEM format")}
	for rest := bundle; len(strings.TrimSpace(string(rest))) > 0; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil || block.Type != "CERTIFICATE" {
			return invalid
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return invalid
		}
	}
	return nil
}

func validateThumbprint(text string, path *field.Path) field.ErrorList {
	sum, err := hex.DecodeString(strings.ReplaceAll(text, ":", ""))
	if err != nil || len(sum) != sha1.Size && len(sum) != sha256.Size {
		return field.ErrorList{field.Invalid(path, text, "must be a SHA-256 (64 hexadecimal digits) or SHA-1 (40), with or without colons")}
	}
	return nil
}
