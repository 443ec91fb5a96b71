// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"encoding/base64"
	"encoding/binary"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

const (
	// cloudConfigHeader is the first line of a cloud-config.
	cloudConfigHeader = "#cloud-config"
	// maxAutoLogon is the maximum of autoLogonCount.
	maxAutoLogon = 100
	// maxTimeZone is greater than all Microsoft time zone indexes.
	maxTimeZone = 999
)

// validateBootstrap checks that at most one provider is set.
func validateBootstrap(bootstrap *vmv1alpha1.VirtualMachineBootstrap, path *field.Path) field.ErrorList {
	if bootstrap == nil {
		return nil
	}
	var errs field.ErrorList
	var set []string
	if bootstrap.CloudInit != nil {
		set = append(set, "cloudInit")
		errs = append(errs, validateCloudInit(bootstrap.CloudInit, path.Child("cloudInit"))...)
	}
	if bootstrap.LinuxPrep != nil {
		set = append(set, "linuxPrep")
	}
	if bootstrap.Sysprep != nil {
		set = append(set, "sysprep")
		errs = append(errs, validateSysprep(bootstrap.Sysprep, path.Child("sysprep"))...)
	}
	if bootstrap.VAppConfig != nil {
		set = append(set, "vAppConfig")
		errs = append(errs, validateVAppConfig(bootstrap.VAppConfig, path.Child("vAppConfig"))...)
	}
	if bootstrap.Ignition != nil {
		set = append(set, "ignition")
		errs = append(errs, validateRequiredSecretKey(bootstrap.Ignition.RawConfig, path.Child("ignition", "rawConfig"))...)
	}
	if len(set) > 1 {
		errs = append(errs, field.Invalid(path, strings.Join(set, ", "), "at most one of these providers may be set"))
	}
	if bootstrap.RemoveAfterFirstBoot && bootstrap.CloudInit == nil && bootstrap.Ignition == nil {
		errs = append(errs, field.Invalid(path.Child("removeAfterFirstBoot"), true, "can be set only with cloudInit or ignition"))
	}
	return errs
}

func validateVAppConfig(vApp *vmv1alpha1.VAppConfigBootstrap, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if _, ok := vApp.Properties[""]; ok {
		errs = append(errs, field.Invalid(path.Child("properties"), "", "a property must have a key"))
	}
	if len(vApp.Properties) > 0 && vApp.RawProperties != "" {
		errs = append(errs, field.Invalid(path.Child("rawProperties"), vApp.RawProperties, "may not be set together with properties"))
	}
	return append(errs, validateName(vApp.RawProperties, path.Child("rawProperties"))...)
}

func validateCloudInit(c *vmv1alpha1.CloudInitBootstrap, path *field.Path) field.ErrorList {
	errs := validateSecretKey(c.RawCloudConfig, path.Child("rawCloudConfig"))
	errs = append(errs, validateSecretKey(c.RawNetworkConfig, path.Child("rawNetworkConfig"))...)
	errs = append(errs, validateSecretKey(c.RawVendorData, path.Child("rawVendorData"))...)
	if c.CloudConfig != "" {
		if c.RawCloudConfig != nil {
			errs = append(errs, field.Invalid(path.Child("rawCloudConfig"), c.RawCloudConfig.Name, "may not be set together with cloudConfig"))
		}
		errs = append(errs, validateCloudConfig(c.CloudConfig, path.Child("cloudConfig"))...)
	}
	for i, key := range c.SSHAuthorizedKeys {
		if !isAuthorizedKey(key) {
			errs = append(errs, field.Invalid(path.Child("sshAuthorizedKeys").Index(i), key, "must be a line in authorized_keys format, for example ssh-ed25519 AAAA… me@example.org"))
		}
	}
	return errs
}

// validateCloudConfig checks inline user data. It rejects secrets, because every user who can read the object can read
// the user data. Errors do not contain values of the user data.
func validateCloudConfig(text string, path *field.Path) field.ErrorList {
	first, _, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != cloudConfigHeader {
		return field.ErrorList{field.Invalid(path, "", "the first line must be "+cloudConfigHeader+": use rawCloudConfig for other user data")}
	}
	var config map[string]any
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		return field.ErrorList{field.Invalid(path, "", "must be a YAML mapping")}
	}
	var errs field.ErrorList
	secret := func(at string) {
		errs = append(errs, field.Forbidden(path, at+" is a secret that every reader of the object could see: use rawCloudConfig"))
	}
	for _, key := range []string{"password", "chpasswd", "ssh_keys"} {
		if _, has := config[key]; has {
			secret(key)
		}
	}
	users, _ := config["users"].([]any)
	for _, u := range users {
		user, _ := u.(map[string]any)
		for _, key := range []string{"passwd", "hashed_passwd", "plain_text_passwd"} {
			if _, has := user[key]; has {
				secret("users[]." + key)
			}
		}
	}
	return errs
}

// isAuthorizedKey reports whether line contains a public key and its type. The type is also the first part of the
// decoded key (RFC 4253, 6.6). Options can precede it and a comment can follow (sshd(8)).
func isAuthorizedKey(line string) bool {
	words := strings.Fields(line)
	for i := 0; i+1 < len(words); i++ {
		key, err := base64.StdEncoding.DecodeString(words[i+1])
		if err != nil || len(key) < 4 {
			continue
		}
		if n := uint64(binary.BigEndian.Uint32(key)); n > 0 && n < uint64(len(key)-4) && string(key[4:4+n]) == words[i] {
			return true
		}
	}
	return false
}

func validateSysprep(s *vmv1alpha1.SysprepBootstrap, path *field.Path) field.ErrorList {
	var set []string
	errs := validateSecretKey(s.RawSysprep, path.Child("rawSysprep"))
	if s.RawSysprep != nil {
		set = append(set, "rawSysprep")
	}
	if s.Answers != nil {
		set = append(set, "answers")
		errs = append(errs, validateAnswers(s.Answers, path.Child("answers"))...)
	}
	return append(errs, validateExactlyOne(set, "rawSysprep, answers", path)...)
}

func validateAnswers(a *vmv1alpha1.SysprepAnswers, path *field.Path) field.ErrorList {
	errs := validateRequiredText(a.FullName, path.Child("fullName"))
	errs = append(errs, validateRequiredText(a.Organization, path.Child("organization"))...)
	errs = append(errs, validateSecretKey(a.ProductKey, path.Child("productKey"))...)
	errs = append(errs, validateSecretKey(a.AdministratorPassword, path.Child("administratorPassword"))...)
	errs = append(errs, validateRange(int64(a.AutoLogonCount), 0, maxAutoLogon, path.Child("autoLogonCount"))...)
	if a.AutoLogonCount > 0 && a.AdministratorPassword == nil {
		errs = append(errs, field.Required(path.Child("administratorPassword"), "must be set if autoLogonCount is set"))
	}
	if a.TimeZone != nil {
		errs = append(errs, validateRange(int64(*a.TimeZone), 0, maxTimeZone, path.Child("timeZone"))...)
	}
	for i, command := range a.RunOnce {
		errs = append(errs, validateRequiredText(command, path.Child("runOnce").Index(i))...)
	}
	if d := a.Domain; d != nil {
		domain := path.Child("domain")
		errs = append(errs, validateRequiredText(d.Name, domain.Child("name"))...)
		errs = append(errs, validateRequiredText(d.User, domain.Child("user"))...)
		errs = append(errs, validateRequiredSecretKey(d.Password, domain.Child("password"))...)
		if a.Workgroup != "" {
			errs = append(errs, field.Invalid(path.Child("workgroup"), a.Workgroup, "may not be set together with domain"))
		}
	}
	return errs
}

func validateRequiredText(text string, path *field.Path) field.ErrorList {
	if strings.TrimSpace(text) == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return nil
}

// validateRequiredSecretKey checks a required reference to a key of a Secret.
func validateRequiredSecretKey(selector *vmv1alpha1.SecretKeySelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return field.ErrorList{field.Required(path, "must refer to a Secret")}
	}
	return validateSecretKey(selector, path)
}

// validateSecretKey checks an optional reference to a key of a Secret.
func validateSecretKey(selector *vmv1alpha1.SecretKeySelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return nil
	}
	errs := validateRequiredName(selector.Name, path.Child("name"))
	if selector.Key != "" {
		errs = append(errs, invalid(selector.Key, path.Child("key"), validation.IsConfigMapKey(selector.Key))...)
	}
	return errs
}
